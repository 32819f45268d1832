//! What a peer may say, for the fuzzers in `fuzz/`: any bytes, in pieces of any size, to the very
//! readers that a load uses. Nothing here is for anybody else.

use crate::protocol::{AnswerReader, Progress, Protocol};
use crate::script::Script;
use crate::stream::{Inbox, Stream};
use crate::{Endpoint, Job};
use plan::{Ask, Database, Statement, Target, Template, Who};
use std::io::Write;
use std::os::unix::net::UnixListener;
use units::Nanos;

/// What a server says that wants no password and takes the one statement.
const LOGIN: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I1\0\0\0\x04Z\0\0\0\x05I";
const PORT: u16 = 5432;

thread_local! {
    static SERVER: Server = Server::new();
}

/// An HTTP/1.1 answer. The first byte says to which method, whether it is kept, and how it is cut.
pub fn http1(bytes: &[u8]) {
    let Some((&how, said)) = bytes.split_first() else { return };
    let mut reader = AnswerReader::default();
    reader.begin(how & 1 != 0, how & 2 != 0);
    for piece in said.chunks(size(how)) {
        match reader.feed(piece) {
            Ok(Progress::More) => {}
            Ok(Progress::Done(_)) => {
                reader.take_content();
                reader.begin(how & 1 != 0, how & 2 != 0);
            }
            Err(_) => return,
        }
    }
    reader.closed();
}

/// A PostgreSQL server's part of a session. The first byte says whether the login is done before, and
/// how it is cut.
pub fn sql(bytes: &[u8]) {
    let Some((&how, said)) = bytes.split_first() else { return };
    SERVER.with(|server| server.says(if how & 1 != 0 { LOGIN } else { &[] }, said, size(how)));
}

/// Small pieces cut every line and number; large ones are what a network does.
fn size(how: u8) -> usize {
    match how >> 2 {
        0 => usize::MAX,
        size => size.into(),
    }
}

/// Where connections lead; the other end is played by the bytes.
struct Server {
    listener: UnixListener,
    job: Job,
}

impl Server {
    /// In a folder of its own, which goes with it.
    fn new() -> Self {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let folder = std::env::temp_dir().join(format!("torment-fuzz-{}-{number}", std::process::id()));
        // Left behind by a process that had this number.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("there is a temporary folder");
        let listener =
            UnixListener::bind(folder.join(format!(".s.PGSQL.{PORT}"))).expect("the folder is ours");
        let database = Database {
            host: folder.to_str().expect("a temporary folder is UTF-8").to_owned(),
            port: PORT,
            user: "me".to_owned(),
            password: Some(Template::literal("secret")),
            name: "db".to_owned(),
            tls: false,
            insecure: false,
        };
        let endpoint = Endpoint::of(&Target::Sql(database)).expect("a folder needs no look-up");
        let mut job = Job::plain(endpoint, "/", Nanos::from_secs(1));
        let statement = Statement { text: "select 1".to_owned(), parameters: Vec::new() };
        job.flows[0].steps[0].ask = Ask::Sql(statement);
        Self { listener, job }
    }

    /// One connection to its end: these bytes come, and statements go as soon as they may. How many
    /// were answered, rightly or not.
    fn says(&self, before: &[u8], said: &[u8], size: usize) -> usize {
        let mut script = Script::new(&self.job).expect("the statement is ours");
        let session = script.session.clone();
        let words = &mut script.flows[0].steps[0].words;
        let who = Who { number: 0, seed: 0, taken: &[] };
        let endpoint = &self.job.endpoint;
        let mut stream = Stream::connect(endpoint, 0).expect("it listens");
        let (mut peer, _) = self.listener.accept().expect("somebody has just connected");
        let (mut protocol, mut inbox, mut told) = (Protocol::Undecided, Inbox::new(), Vec::new());
        let mut ready = false;
        for piece in before.chunks(size).chain(said.chunks(size)) {
            if peer.write_all(piece).is_err() {
                break;
            }
            let heard = if ready {
                protocol.receive(&mut stream, &mut inbox, false, &mut told).is_ok()
            } else {
                let made = protocol.establish(endpoint, session.as_ref(), &mut stream, &mut inbox);
                ready = matches!(made, Ok(true));
                made.is_ok()
            };
            let may_send = ready && protocol.room() > 0;
            if !heard || (may_send && protocol.send(&mut stream, words, &who, &[], 0).is_err()) {
                break;
            }
        }
        told.len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Target::Sql(database) = &self.job.endpoint.target else { return };
        let _ = std::fs::remove_dir_all(&database.host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_session_gets_as_far_as_its_statements() {
        let answer = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        for size in [1, 2, 7, usize::MAX] {
            let server = Server::new();
            assert_eq!(server.says(LOGIN, answer, size), 1, "{size}");
            assert_eq!(server.says(LOGIN, &answer.repeat(3), 1), 3);
            assert_eq!(server.says(b"", answer, size), 0, "{size}");
        }
    }

    proptest! {
        #[test]
        fn nothing_said_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            http1(&bytes);
            sql(&bytes);
        }
    }
}
