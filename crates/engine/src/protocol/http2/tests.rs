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
    connection: Http2,
    stream: Stream,
    inbox: ReadBuffer,
    completions: Vec<Completion>,
    /// Exchanges begun so far: the number of the next.
    begun: u32,
}

impl Client {
    fn connect(server: SocketAddr, streams: u32) -> io::Result<Self> {
        let origin = Origin::new(false, server.ip().to_string(), server.port());
        let endpoint = ResolvedTarget::resolve(&Target::Http(origin)).expect("an address needs no look-up");
        let mut stream = Stream::connect(&endpoint, 0)?;
        let (mut connection, mut inbox) = (Http2::new(streams), ReadBuffer::new());
        patiently(|| stream.continue_connecting().map(|made| made.then_some(())))?;
        patiently(|| connection.continue_handshake(&mut stream, &mut inbox).map(|done| done.then_some(())))?;
        Ok(Self { connection, stream, inbox, completions: Vec::new(), begun: 0 })
    }

    fn send(&mut self, request: &mut RequestWriter) {
        self.send_only(request, false);
        self.connection.flush(&mut self.stream).expect("the server listens");
    }

    fn send_only(&mut self, request: &mut RequestWriter, content: bool) {
        let context = RenderContext { number: u64::from(self.begun), seed: 1, extracted: &[] };
        self.connection.send(request, &context, b"", self.begun, content);
        self.begun += 1;
    }

    /// Reads until `enough` exchanges have completed in all, or the connection ends.
    fn receive_until(&mut self, enough: usize) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        while self.completions.len() < enough {
            assert!(
                Instant::now() < until,
                "{} of {enough} told: {:?}",
                self.completions.len(),
                self.completions
            );
            let result = self.connection.receive(
                &mut self.stream,
                &mut self.inbox,
                Readiness::End,
                &mut self.completions,
            );
            if self.completions.len() < enough {
                result?;
            }
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// How the connection ends if nothing more is sent.
    fn end(&mut self) -> Failure {
        self.receive_until(usize::MAX).expect_err("it hears until the end")
    }

    /// The status of each completed exchange, or why it has none.
    fn results(&mut self) -> Vec<String> {
        self.completions.sort_by_key(|completion| completion.exchange);
        let result = |completion: Completion| match completion.result {
            Ok(Answer { failure: Some(why), .. }) => why.to_string(),
            Ok(answer) => answer.status.expect("HTTP has a status").to_string(),
            Err(why) => why.to_string(),
        };
        self.completions.drain(..).map(result).collect()
    }

    fn open(&self) -> Vec<u32> {
        let mut open = Vec::new();
        self.connection.each_open(&mut |exchange, _| open.push(exchange));
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
