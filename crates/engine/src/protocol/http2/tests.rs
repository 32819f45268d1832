//! One connection against test servers: the h2 library as a second opinion, and hand-written bytes for what no
//! library sends.

mod by_hand;
mod garbage;
mod library;
mod server;

use super::{Http2, RequestWriter};
use crate::protocol::{Answer, Completion, Readiness};
use crate::resolved_target::ResolvedTarget;
use crate::stream::{ReadBuffer, Stream};
use plan::{Origin, RenderContext, Request, Target, Template};
use record::Failure;
use std::io;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection, driven as a loop does, but without an epoll.
struct Client {
    talk: Http2,
    stream: Stream,
    inbox: ReadBuffer,
    told: Vec<Completion>,
    /// Exchanges begun so far: the number of the next.
    begun: u32,
}

impl Client {
    fn connect(server: SocketAddr, streams: u32) -> io::Result<Self> {
        let origin = Origin::new(false, server.ip().to_string(), server.port());
        let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address needs no look-up");
        let mut stream = Stream::connect(&endpoint, 0)?;
        let (mut talk, mut inbox) = (Http2::new(streams), ReadBuffer::new());
        patiently(|| stream.continue_connecting().map(|made| made.then_some(())))?;
        patiently(|| talk.continue_handshake(&mut stream, &mut inbox).map(|done| done.then_some(())))?;
        Ok(Self { talk, stream, inbox, told: Vec::new(), begun: 0 })
    }

    fn send(&mut self, request: &mut RequestWriter) {
        self.send_only(request, false);
        self.talk.flush(&mut self.stream).expect("the server listens");
    }

    fn send_only(&mut self, request: &mut RequestWriter, content: bool) {
        let who = RenderContext { number: u64::from(self.begun), seed: 1, taken: &[] };
        self.talk.send(request, &who, b"", self.begun, content);
        self.begun += 1;
    }

    /// Reads until `enough` exchanges have completed in all, or the connection ends.
    fn hear(&mut self, enough: usize) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while self.told.len() < enough {
            assert!(Instant::now() < until, "{} of {enough} told: {:?}", self.told.len(), self.told);
            let result = self.talk.receive(&mut self.stream, &mut self.inbox, Readiness::End, &mut self.told);
            if self.told.len() < enough {
                result?;
            }
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// How the connection ends if nothing more is sent.
    fn end(&mut self) -> Failure {
        self.hear(usize::MAX).expect_err("it hears until the end")
    }

    /// The status of each completed exchange, or why it has none.
    fn results(&mut self) -> Vec<String> {
        self.told.sort_by_key(|told| told.exchange);
        let result = |told: Completion| match told.result {
            Ok(Answer { failure: Some(why), .. }) => why.to_string(),
            Ok(answer) => answer.status.expect("HTTP has a status").to_string(),
            Err(why) => why.to_string(),
        };
        self.told.drain(..).map(result).collect()
    }

    fn open(&self) -> Vec<u32> {
        let mut open = Vec::new();
        self.talk.each_open(&mut |exchange, _| open.push(exchange));
        open.sort_unstable();
        open
    }
}

/// Retries until there is something.
fn patiently<T>(mut attempt: impl FnMut() -> io::Result<Option<T>>) -> io::Result<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(thing) = attempt()? {
            return Ok(thing);
        }
        assert!(Instant::now() < until, "nothing came");
        sleep(Duration::from_micros(200));
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> RequestWriter {
    let template = |text: &str| Template::parse(text).expect("valid");
    let request = Request {
        method: method.to_owned(),
        path: template(path),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), template(value))).collect(),
        body: Template::literal(body),
        expect: Vec::new(),
        checks: Vec::new(),
    };
    RequestWriter::new(&request, "example", false)
}

fn get(path: &str) -> RequestWriter {
    request("GET", path, &[], Vec::new())
}
