//! A fake PostgreSQL server whose messages are the fuzzer's bytes.

use crate::prepared_flows::PreparedFlows;
use crate::protocol::{Protocol, Readiness};
use crate::stream::{ReadBuffer, Stream};
use crate::{EngineConfig, ResolvedTarget};
use plan::{DatabaseAddress, Payload, RenderContext, Statement, Target, Template};
use std::io::Write;
use std::os::unix::net::UnixListener;
use units::Nanos;

const PORT: u16 = 5432;

/// Accepts connections; the fuzzed bytes play the other end.
pub(super) struct FuzzServer {
    listener: UnixListener,
    config: EngineConfig,
}

impl FuzzServer {
    /// Listens in a temporary folder of its own.
    pub fn new() -> Self {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let folder = std::env::temp_dir().join(format!("torment-fuzz-{}-{number}", std::process::id()));
        // Left behind by a process that had this number.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("there is a temporary folder");
        let listener =
            UnixListener::bind(folder.join(format!(".s.PGSQL.{PORT}"))).expect("the folder is ours");
        let database = DatabaseAddress {
            host: folder.to_str().expect("a temporary folder is UTF-8").to_owned(),
            port: PORT,
            user: "me".to_owned(),
            password: Some(Template::literal("secret")),
            name: "db".to_owned(),
            tls: false,
            insecure: false,
        };
        let endpoint = ResolvedTarget::resolve(&Target::Sql(database)).expect("a folder needs no look-up");
        let mut config = EngineConfig::plain(endpoint, "/", Nanos::from_secs(1));
        let statement = Statement { text: "select 1".to_owned(), parameters: Vec::new() };
        config.flows[0].steps[0].ask = Payload::Sql(statement);
        Self { listener, config }
    }

    /// Runs one connection to its end: these bytes arrive, and statements are sent as soon as possible. Returns
    /// how many were answered, rightly or not.
    pub fn replay(&self, before: &[u8], received: &[u8], size: usize) -> usize {
        let mut script = PreparedFlows::new(&self.config).expect("the statement is ours");
        let session = script.session.clone();
        let request = &mut script.flows[0].steps[0].prepared;
        let context = RenderContext { number: 0, seed: 0, extracted: &[] };
        let endpoint = &self.config.endpoint;
        let mut stream = Stream::connect(endpoint, 0).expect("it listens");
        let (mut peer, _) = self.listener.accept().expect("somebody has just connected");
        let (mut protocol, mut inbox, mut completions) = (Protocol::Undecided, ReadBuffer::new(), Vec::new());
        let mut ready = false;
        for piece in before.chunks(size).chain(received.chunks(size)) {
            if peer.write_all(piece).is_err() {
                break;
            }
            let connected = if ready {
                protocol.receive(&mut stream, &mut inbox, Readiness::Bytes, &mut completions).is_ok()
            } else {
                let made = protocol.establish(endpoint, session.as_ref(), &mut stream, &mut inbox);
                ready = matches!(made, Ok(true));
                made.is_ok()
            };
            let may_send = ready && protocol.room() > 0;
            if !connected || (may_send && protocol.send(&mut stream, request, &context, &[], 0).is_err()) {
                break;
            }
        }
        completions.len()
    }
}

impl Drop for FuzzServer {
    fn drop(&mut self) {
        let Target::Sql(database) = &self.config.endpoint.target else { return };
        let _ = std::fs::remove_dir_all(&database.host);
    }
}
