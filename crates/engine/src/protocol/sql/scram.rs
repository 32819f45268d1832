//! SCRAM-SHA-256 (RFC 5802 and RFC 7677), client side, without channel binding.
//!
//! Written here rather than taken from a client library for two reasons. Deriving keys from password and salt
//! is expensive by design, 4,096 rounds and more: a loop that did it for each connection would send nothing for
//! a millisecond each time. And the nonce must come from the kernel without a descriptor kept between calls:
//! each loop has its own descriptor table, and what is `/dev/urandom` in one is a connection in another.

use aws_lc_rs::{digest, hmac, pbkdf2, rand};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::num::NonZeroU32;
use std::sync::Mutex;

const NONCE_BYTES: usize = 18;
/// More rounds would stop a loop for a second, though only once.
const MAX_ROUNDS: u32 = 5_000_000;
/// The base64 form of `n,,`: no channel binding.
const NO_BINDING: &str = "biws";

/// The keys derived from the last password, salt and round count; the same for all connections of a user.
pub(crate) type KeyCache = Mutex<Option<(Vec<u8>, NonZeroU32, ScramKeys)>>;

#[derive(Clone)]
pub(crate) struct ScramKeys {
    client: [u8; digest::SHA256_OUTPUT_LEN],
    server: [u8; digest::SHA256_OUTPUT_LEN],
}

pub(crate) struct Scram {
    nonce: String,
    /// The first message without its channel-binding header.
    client_first: String,
    /// The key by which the server proves that it knows the password too, and the text that it has to sign.
    server_check: Option<(hmac::Key, String)>,
}

impl Scram {
    /// Fails if the kernel has no randomness.
    pub fn new() -> Result<Self, &'static str> {
        let mut nonce = [0; NONCE_BYTES];
        rand::fill(&mut nonce).map_err(|_| "this machine gives no random numbers")?;
        // The user name was sent before.
        Ok(Self::with("", BASE64_STANDARD.encode(nonce)))
    }

    fn with(user: &str, nonce: String) -> Self {
        let client_first = format!("n={user},r={nonce}");
        Self { nonce, client_first, server_check: None }
    }

    pub fn first(&self) -> String {
        format!("n,,{}", self.client_first)
    }

    /// The reply to the server's first message.
    pub fn answer_challenge(
        &mut self,
        challenge: &[u8],
        password: &[u8],
        cache: &KeyCache,
    ) -> Result<String, &'static str> {
        let wrong = "a challenge that is not of SCRAM";
        let challenge = str::from_utf8(challenge).map_err(|_| wrong)?;
        let mut parts = challenge.split(',');
        let mut part = |name| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(wrong);
        let (nonce, salt, rounds) = (part("r=")?, part("s=")?, part("i=")?);
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("a challenge to somebody else");
        }
        let salt = BASE64_STANDARD.decode(salt).map_err(|_| wrong)?;
        let rounds: NonZeroU32 = rounds.parse().map_err(|_| wrong)?;
        if rounds.get() > MAX_ROUNDS {
            return Err("a challenge of more than five million rounds");
        }
        let keys = derive_keys(password, salt, rounds, cache);
        let message = format!("c={NO_BINDING},r={nonce}");
        let signed = format!("{},{challenge},{message}", self.client_first);
        let stored = digest::digest(&digest::SHA256, &keys.client);
        let signature = sign(stored.as_ref(), signed.as_bytes());
        let proof: Vec<u8> = keys.client.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        self.server_check = Some((hmac::Key::new(hmac::HMAC_SHA256, &keys.server), signed));
        Ok(format!("{message},p={}", BASE64_STANDARD.encode(proof)))
    }

    /// Checks that the server's last message proves that it knows the password.
    pub fn check(&self, last: &[u8]) -> Result<(), &'static str> {
        let proof = last.strip_prefix(b"v=").and_then(|proof| BASE64_STANDARD.decode(proof).ok());
        match (proof, &self.server_check) {
            (Some(proof), Some((key, signed))) => hmac::verify(key, signed.as_bytes(), &proof).ok(),
            _ => None,
        }
        .ok_or("no proof that it knows the password")
    }
}

fn derive_keys(password: &[u8], salt: Vec<u8>, rounds: NonZeroU32, cache: &KeyCache) -> ScramKeys {
    let mut cache = cache.lock().expect("nobody panics with it");
    match &*cache {
        Some((known, count, keys)) if *known == salt && *count == rounds => keys.clone(),
        _ => {
            // As in the server: what is not text, or not permitted, is used unchanged.
            let prepared = str::from_utf8(password).ok().and_then(|text| stringprep::saslprep(text).ok());
            let password = prepared.as_deref().map_or(password, str::as_bytes);
            let mut salted = [0; digest::SHA256_OUTPUT_LEN];
            pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, &salt, password, &mut salted);
            let keys =
                ScramKeys { client: sign(&salted, b"Client Key"), server: sign(&salted, b"Server Key") };
            *cache = Some((salt, rounds, keys.clone()));
            keys
        }
    }
}

fn sign(key: &[u8], text: &[u8]) -> [u8; digest::SHA256_OUTPUT_LEN] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text);
    tag.as_ref().try_into().expect("SHA-256 is of that length")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const CHALLENGE: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    /// RFC 7677, 3.
    #[test]
    fn a_login_is_the_one_of_the_standard() {
        let cache = KeyCache::default();
        for _ in 0..2 {
            let mut scram = Scram::with("user", NONCE.to_owned());
            assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
            let answer = scram.answer_challenge(CHALLENGE.as_bytes(), b"pencil", &cache).expect("valid");
            let expected = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                            p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
            assert_eq!(answer, expected);
            assert_eq!(scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
            for last in [
                &b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G0="[..],
                b"v=",
                b"v=6rri",
                b"e=other-error",
                b"",
            ] {
                assert!(scram.check(last).is_err());
            }
        }
        // Another salt yields other keys.
        let mut scram = Scram::with("user", NONCE.to_owned());
        let other = CHALLENGE.replace("W22Z", "W22a");
        let answer = scram.answer_challenge(other.as_bytes(), b"pencil", &cache).expect("valid");
        assert!(!answer.contains("dHzbZapW"));
    }

    #[test]
    fn a_server_that_says_something_else_is_not_answered() {
        for (challenge, expected) in [
            (CHALLENGE.replace("rOpr", "rOpx"), "somebody else"),
            (format!("r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), "somebody else"),
            (CHALLENGE.replace("4096", "0"), "not of SCRAM"),
            (CHALLENGE.replace("4096", "x"), "not of SCRAM"),
            (CHALLENGE.replace("4096", "5000001"), "five million"),
            (CHALLENGE.replace("s=W", "s=!"), "not of SCRAM"),
            (CHALLENGE.replace("s=W", "t=W"), "not of SCRAM"),
            (format!("m=x,{CHALLENGE}"), "not of SCRAM"),
            (String::new(), "not of SCRAM"),
        ] {
            let mut scram = Scram::with("", NONCE.to_owned());
            let why = scram
                .answer_challenge(challenge.as_bytes(), b"", &KeyCache::default())
                .expect_err(&challenge);
            assert!(why.contains(expected), "{challenge}: {why}");
            assert!(scram.check(b"v=").is_err());
        }
        let (one, other) = (Scram::new().expect("random"), Scram::new().expect("random"));
        assert_ne!(one.nonce, other.nonce);
    }
}
