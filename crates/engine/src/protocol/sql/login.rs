//! The login: authentication, and preparing the statements.

use super::error_response::ErrorResponse;
use super::message::{Message, MessageReader, kind, write_cstring, write_length_prefixed, write_message};
use super::scram::{KeyCache, Scram};
use super::statement::statement_name;
use md5::{Digest, Md5};
use plan::{DatabaseAddress, RenderContext, Statement};
use std::io;

/// Protocol version 3.0, supported by every server since 7.4.
const VERSION: u32 = 3 << 16;
/// Sent instead of the version to request TLS.
const TLS_REQUEST: u32 = 1234 << 16 | 5679;
/// The only mechanism that servers offer, besides the one bound to TLS.
const SCRAM: &str = "SCRAM-SHA-256";

/// What all connections of one pool send, prepared.
pub(crate) struct SessionSetup {
    user: String,
    password: Option<Vec<u8>>,
    key_cache: KeyCache,
    startup: Vec<u8>,
    /// Has the server parse and name every statement.
    prepare: Vec<u8>,
    /// Texts of the statements, by number.
    statements: Vec<String>,
    /// Connections in the pool.
    pool: u32,
}

impl SessionSetup {
    /// Statements are numbered in order.
    pub fn new<'a>(
        database: &DatabaseAddress,
        statements: impl IntoIterator<Item = &'a Statement>,
        pool: u32,
    ) -> Self {
        let mut startup = Vec::new();
        write_length_prefixed(&mut startup, true, |out| {
            out.extend_from_slice(&VERSION.to_be_bytes());
            for (key, value) in [
                ("user", database.user.as_str()),
                ("database", &database.name),
                ("application_name", "torment"),
                ("client_encoding", "UTF8"),
            ] {
                write_cstring(key, out);
                write_cstring(value, out);
            }
            out.push(0);
        });
        let (mut prepare, mut texts) = (Vec::new(), Vec::new());
        for (number, statement) in statements.into_iter().enumerate() {
            write_message(b'P', &mut prepare, |out| {
                write_cstring(&statement_name(number), out);
                write_cstring(&statement.text, out);
                // The server infers the parameter types.
                out.extend_from_slice(&0u16.to_be_bytes());
            });
            texts.push(statement.text.clone());
        }
        write_message(b'S', &mut prepare, |_| {});
        let password = database.password.as_ref().map(|template| {
            let mut password = Vec::new();
            template.render(&RenderContext { number: 0, seed: 0, extracted: &[] }, 0, &mut password);
            password
        });
        Self {
            user: database.user.clone(),
            password,
            key_cache: KeyCache::default(),
            startup,
            prepare,
            statements: texts,
            pool,
        }
    }

    pub fn statement(&self, number: usize) -> &str {
        self.statements.get(number).map_or("", String::as_str)
    }

    fn password(&self) -> io::Result<&[u8]> {
        self.password.as_deref().ok_or_else(|| {
            let user = &self.user;
            let why = format!(
                "the server wants a password for user \"{user}\", and none is given: write \
                 postgres://{user}:{{env:PGPASSWORD}}@… and set that variable"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })
    }

    /// Why there is no session, from the server's error.
    fn login_error(&self, error: &ErrorResponse) -> io::Error {
        let text = format!("the server says: {}", error.describe(None));
        match error.code.as_str() {
            "53300" => {
                let why = format!(
                    "{text}; --pool is {}: lower it, or raise max_connections of the server (or the limit of the \
                     user or the database)",
                    self.pool
                );
                io::Error::new(io::ErrorKind::ResourceBusy, why)
            }
            code if code.starts_with("28") => {
                let why = format!("{text}; check user and password, and the server's pg_hba.conf");
                io::Error::new(io::ErrorKind::PermissionDenied, why)
            }
            _ => invalid_data(text),
        }
    }
}

/// Keeps the password out of debug output.
impl std::fmt::Debug for SessionSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionSetup")
            .field("user", &self.user)
            .field("statements", &self.statements)
            .finish_non_exhaustive()
    }
}

/// The progress of a connection's login.
pub(crate) struct Login {
    phase: LoginPhase,
    scram: Option<Scram>,
    /// Statements that the server has parsed.
    parsed: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LoginPhase {
    Start,
    /// TLS is requested.
    TlsRequested,
    /// TLS handshake in progress.
    Securing,
    /// The startup message is sent.
    StartupSent,
    /// The statements are sent.
    Preparing,
    Ready,
}

impl Login {
    pub fn new() -> Self {
        Self { phase: LoginPhase::Start, scram: None, parsed: 0 }
    }

    /// Whether nothing has been sent.
    pub fn is_new(&self) -> bool {
        self.phase == LoginPhase::Start
    }

    pub fn is_ready(&self) -> bool {
        self.phase == LoginPhase::Ready
    }

    /// Whether the next byte says if the server has TLS.
    pub fn awaits_tls(&self) -> bool {
        self.phase == LoginPhase::TlsRequested
    }

    pub fn is_securing(&self) -> bool {
        self.phase == LoginPhase::Securing
    }

    /// Appends what is sent without waiting for the server.
    pub fn write_next(&mut self, session: &SessionSetup, tls: bool, out: &mut Vec<u8>) {
        match self.phase {
            LoginPhase::Start if tls => {
                write_length_prefixed(out, true, |out| out.extend_from_slice(&TLS_REQUEST.to_be_bytes()));
                self.phase = LoginPhase::TlsRequested;
            }
            LoginPhase::Start | LoginPhase::Securing => {
                out.extend_from_slice(&session.startup);
                self.phase = LoginPhase::StartupSent;
            }
            _ => {}
        }
    }

    /// Handles the answer to the TLS request. It is one byte: anything after it comes not from the server, but
    /// from somebody in between.
    pub fn handle_tls_answer(&mut self, answer: &[u8]) -> io::Result<()> {
        match answer {
            b"S" => {
                self.phase = LoginPhase::Securing;
                Ok(())
            }
            [b'N' | b'E', ..] => Err(invalid_data(
                "the server has no TLS (ssl is off in its postgresql.conf); use sslmode=disable".to_owned(),
            )),
            _ => Err(invalid_data(
                "it does not answer as PostgreSQL does when asked for TLS; check the port".to_owned(),
            )),
        }
    }

    /// Handles received bytes, and appends the replies.
    pub fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        messages: &mut MessageReader,
        session: &SessionSetup,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        while let Some(message) = messages.next(&mut bytes).map_err(protocol_error)? {
            self.handle_message(&message, session, out)?;
        }
        Ok(())
    }

    /// Handles a message, and appends the reply.
    fn handle_message(
        &mut self,
        message: &Message<'_>,
        session: &SessionSetup,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        match (message.kind, self.phase) {
            (kind::PARAMETER_STATUS | kind::NOTICE_RESPONSE | kind::NOTIFICATION_RESPONSE, _) => {}
            // Only servers that support less than we request negotiate version and options.
            (kind::KEY_DATA | kind::NEGOTIATE, LoginPhase::StartupSent) => {}
            (kind::AUTHENTICATION, LoginPhase::StartupSent) => {
                self.authenticate(message.body, session, out)?
            }
            (kind::READY_FOR_QUERY, LoginPhase::StartupSent) => {
                out.extend_from_slice(&session.prepare);
                self.phase = LoginPhase::Preparing;
            }
            (kind::PARSE_COMPLETE, LoginPhase::Preparing) => self.parsed += 1,
            (kind::READY_FOR_QUERY, LoginPhase::Preparing) if self.parsed == session.statements.len() => {
                self.phase = LoginPhase::Ready;
            }
            (kind::ERROR_RESPONSE, LoginPhase::Preparing) => {
                let statement = session.statement(self.parsed);
                let (number, why) =
                    (self.parsed + 1, ErrorResponse::parse(message.body).describe(Some(statement)));
                return Err(invalid_data(format!("the server refuses statement {number}: {why}")));
            }
            (kind::ERROR_RESPONSE, _) => return Err(session.login_error(&ErrorResponse::parse(message.body))),
            _ => return Err(protocol_error("a message that has no place in a login")),
        }
        Ok(())
    }

    fn authenticate(&mut self, body: &[u8], session: &SessionSetup, out: &mut Vec<u8>) -> io::Result<()> {
        let (code, rest) =
            body.split_first_chunk().ok_or_else(|| protocol_error("a message that is too short"))?;
        match (u32::from_be_bytes(*code), &mut self.scram) {
            (0, None) => {}
            (0, Some(_)) => {
                return Err(protocol_error("a login without the proof that it knows the password"));
            }
            (3, _) => {
                let password = session.password()?;
                write_secret(out, |out| out.extend([password, &[0]].concat()));
            }
            (5, _) => {
                let salt = rest.try_into().map_err(|_| protocol_error("a salt that is not of four bytes"))?;
                let hash = md5(session.password()?, session.user.as_bytes(), salt);
                write_secret(out, |out| write_cstring(&hash, out));
            }
            (10, _) => {
                if !rest.split(|&b| b == 0).any(|name| name == SCRAM.as_bytes()) {
                    return Err(invalid_data(format!("the server asks for a login other than {SCRAM}")));
                }
                // Fail before requesting a challenge that cannot be answered.
                session.password()?;
                let scram = Scram::new().map_err(|why| invalid_data(why.to_owned()))?;
                write_secret(out, |out| {
                    write_cstring(SCRAM, out);
                    write_length_prefixed(out, false, |out| out.extend_from_slice(scram.first().as_bytes()));
                });
                self.scram = Some(scram);
            }
            (11, Some(scram)) => {
                let proof = scram
                    .answer_challenge(rest, session.password()?, &session.key_cache)
                    .map_err(protocol_error)?;
                write_secret(out, |out| out.extend_from_slice(proof.as_bytes()));
            }
            (12, Some(scram)) => {
                scram.check(rest).map_err(protocol_error)?;
                self.scram = None;
            }
            (11 | 12, None) => return Err(protocol_error("an answer to what was not said")),
            (other, _) => {
                let method = match other {
                    7 => "GSSAPI",
                    9 => "SSPI",
                    2 => "Kerberos",
                    _ => "an unknown kind of login",
                };
                return Err(invalid_data(format!(
                    "the server asks for {method}; torment has passwords (md5, SCRAM, or as they are) and trust: \
                     change pg_hba.conf for this user"
                )));
            }
        }
        Ok(())
    }
}

/// md5 over salt and the md5 of password and user.
fn md5(password: &[u8], user: &[u8], salt: [u8; 4]) -> String {
    let digest =
        |parts: &[&[u8]]| Md5::digest(parts.concat()).iter().map(|b| format!("{b:02x}")).collect::<String>();
    format!("md5{}", digest(&[digest(&[password, user]).as_bytes(), &salt]))
}

/// A message of kind `p`, which carries all authentication data.
fn write_secret(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    write_message(b'p', out, body);
}

fn invalid_data(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn protocol_error(what: &str) -> io::Error {
    invalid_data(format!("it does not speak PostgreSQL's protocol: {what}; check host and port"))
}
