//! ssh's messages, and what they mean for the user.

use std::io::{self, Read};
use std::process::{ChildStderr, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How much of the end of stderr is kept.
const TAIL_BYTES: usize = 4 << 10;
/// Wait for the last output after ssh ended.
const TAIL_LIMIT: Duration = Duration::from_millis(300);
/// Exit code of ssh itself (ssh(1)); others are the remote command's.
const SSH_EXIT_CODE: i32 = 255;

/// The end of ssh's stderr.
#[derive(Debug)]
pub(super) struct SshStderr {
    host: String,
    tail: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl SshStderr {
    pub fn new(host: &str, mut from: ChildStderr) -> io::Result<Self> {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&tail);
        let read = move || {
            let mut piece = [0; 512];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                let mut tail = to.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&piece[..length]);
                let old = tail.len().saturating_sub(TAIL_BYTES);
                tail.drain(..old);
            }
        };
        let reader = std::thread::Builder::new().name("ssh-says".to_owned()).spawn(read)?;
        Ok(Self { host: host.to_owned(), tail, reader })
    }

    /// Why the member is absent: from what was wrong there, how ssh ended, and its output.
    pub fn explain(&self, wrong: &str, status: Option<ExitStatus>) -> String {
        let until = Instant::now() + TAIL_LIMIT;
        while status.is_some() && !self.reader.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        explain(&self.host, wrong, status.and_then(|status| status.code()), &String::from_utf8_lossy(&tail))
    }
}

/// Problem and remedy in words.
fn explain(host: &str, wrong: &str, code: Option<i32>, tail: &str) -> String {
    if !wrong.is_empty() {
        return wrong.to_owned();
    }
    let last = tail.lines().map(str::trim).rfind(|line| !line.is_empty());
    let Some(last) = last else {
        // So it is when a signal killed the remote command; a broken connection would leave a message.
        return "torment was killed there, or cut off".to_owned();
    };
    if code != Some(SSH_EXIT_CODE) {
        let how = code.map_or("was killed".to_owned(), |code| format!("ended with {code}"));
        return format!("torment {how} there: {last}");
    }
    if tail.contains("Permission denied") || tail.contains("Too many authentication failures") {
        return format!(
            "ssh is not let in without a password ({last}): set up a key (ssh-copy-id {host}), and unlock it (ssh-add)"
        );
    }
    if tail.contains("IDENTIFICATION HAS CHANGED") {
        return format!(
            "the host is not the one that ssh knows by this name: find out why; if that is right, ssh-keygen -R {host}"
        );
    }
    if tail.contains("Host key verification failed") {
        return format!(
            "ssh does not know this host yet: log in once by hand, and look at its key: ssh {host}"
        );
    }
    format!("ssh: {}; see that it works by hand: ssh {host} true", last.trim_start_matches("ssh: "))
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn what_ssh_says_is_told_with_what_helps() {
        for (wrong, code, tail, expected) in [
            ("no", Some(255), "x", "no"),
            ("", Some(255), "me@b: Permission denied (publickey,password).\n", "ssh-copy-id b"),
            ("", Some(255), "No ED25519 host key is known for b\nHost key verification failed.\n", "ssh b"),
            (
                "",
                Some(255),
                "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
                "ssh-keygen -R b",
            ),
            (
                "",
                Some(255),
                "ssh: Could not resolve hostname b: unknown\n\n",
                "ssh: Could not resolve hostname b: unknown; see that it works by hand: ssh b true",
            ),
            ("", Some(127), "sh: not found", "torment ended with 127 there: sh: not found"),
            ("", None, "", "torment was killed there, or cut off"),
        ] {
            let why = explain("b", wrong, code, tail);
            assert!(!why.contains("ssh: ssh:"), "{why}");
            assert!(why.ends_with(expected) || why.contains(&format!("{expected})")), "{why}");
        }
    }
}
