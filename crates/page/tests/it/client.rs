//! A plain client, and runs for it to read.

use record::{Event, Failure, Machine, Outcome, Purpose, RunId, Slice};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{RunWriter, Store};
use tempfile::TempDir;
use torment_page::{PageServer, ServeOptions, Token};
use units::{Nanos, Rate};

/// Longer than anything here takes on a busy machine: after this, what is awaited will not come.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a store.
pub struct StoreFolder(TempDir);

impl StoreFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("t.db")
    }

    pub fn store(&self) -> Store {
        Store::open(&self.path()).expect("opens")
    }

    /// Its page, at a free port.
    pub fn serve(&self, token: Option<&str>) -> ServedPage {
        serve(&self.path(), "127.0.0.1:0", token).expect("a free port")
    }
}

pub fn serve(store: &Path, at: &str, token: Option<&str>) -> std::io::Result<ServedPage> {
    let token: Option<Token> = token.map(|text| text.parse().expect("a token"));
    let page = PageServer::start(&ServeOptions {
        store,
        at: at.parse().expect("an address"),
        token,
        load_cpus: None,
    })?;
    let address = page.url().strip_prefix("http://").and_then(|rest| rest.split('/').next()).expect("a URL");
    let at = address.parse().expect("an address");
    Ok(ServedPage { page, at })
}

pub struct ServedPage {
    pub page: PageServer,
    pub at: SocketAddr,
}

impl ServedPage {
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, &[("Host", "localhost")])
    }

    /// Asserts that the response is successful JSON.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// Asserts a refusal, and returns its reason.
    #[track_caller]
    pub fn refuses(&self, path: &str, status: u16) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        answer.json()["error"].as_str().expect("words").to_owned()
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
        let mut stream = connect(self.at);
        send(&mut stream, method, path, "1.1", headers);
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers in UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
        HttpAnswer { status: status(head), head: head.to_lowercase(), body: body.to_owned() }
    }

    /// The events of a run, after the last one seen.
    pub fn events(&self, run: &str, last: Option<&str>) -> Events {
        let mut stream = connect(self.at);
        let mut headers = vec![("Host", "localhost"), ("Accept", "text/event-stream")];
        headers.extend(last.map(|id| ("Last-Event-ID", id)));
        // HTTP/1.0 responses are not chunked.
        send(&mut stream, "GET", &format!("/api/runs/{run}/events"), "1.0", &headers);
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).expect("it answers") > 0, "no answer: {head}");
        }
        assert_eq!(status(&head), 200, "{head}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        Events { lines }
    }
}

pub struct HttpAnswer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl HttpAnswer {
    #[track_caller]
    pub fn json(&self) -> Value {
        assert!(self.head.contains("content-type: application/json"), "{}\n{}", self.head, self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

pub fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("not zero");
    stream
}

pub fn send(stream: &mut TcpStream, method: &str, path: &str, version: &str, headers: &[(&str, &str)]) {
    let mut text = format!("{method} {path} HTTP/{version}\r\nConnection: close\r\n");
    headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
    stream.write_all(format!("{text}\r\n").as_bytes()).expect("it listens");
}

fn status(head: &str) -> u16 {
    let word = head.split_whitespace().nth(1);
    word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"))
}

/// The event stream of a browser.
pub struct Events {
    lines: BufReader<TcpStream>,
}

#[derive(Debug, Default)]
pub struct ServerEvent {
    pub event: String,
    pub id: String,
    pub data: Value,
}

impl Events {
    /// The next event; none at the end of the response.
    pub fn next(&mut self) -> Option<ServerEvent> {
        let mut event = ServerEvent::default();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("an event in time") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ").or_else(|| line.trim_end().split_once(':')) {
                Some(("event", name)) => event.event = name.to_owned(),
                Some(("id", id)) => event.id = id.to_owned(),
                Some(("data", text)) => event.data = serde_json::from_str(text).expect("JSON"),
                // A comment, or the retry delay.
                Some(_) => {}
                None if event.event.is_empty() => {}
                None => return Some(event),
            }
        }
    }

    /// The next event of this kind.
    #[track_caller]
    pub fn next_of(&mut self, event: &str) -> ServerEvent {
        loop {
            let found = self.next().unwrap_or_else(|| panic!("no '{event}' before the end"));
            if found.event == event {
                return found;
            }
        }
    }
}

/// The rows a browser has, assembled as it does.
#[derive(Debug, Default)]
pub struct ReceivedRows {
    pub generation: Option<u64>,
    pub at: Vec<f64>,
    pub id: String,
}

impl ReceivedRows {
    #[track_caller]
    pub fn take(&mut self, event: &ServerEvent) {
        let number =
            |name: &str| event.data[name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", event.data));
        let (generation, from) = (number("generation"), number("from") as usize);
        if self.generation.is_some_and(|before| before != generation) {
            assert_eq!(from, 0, "another generation begins anew");
        }
        assert!(from <= self.at.len(), "rows from {from} on, after {}", self.at.len());
        self.at.truncate(from);
        let at = numbers(&event.data["timeline"]["at"]);
        for column in event.data["timeline"]["columns"].as_array().expect("columns") {
            assert_eq!(column["values"].as_array().expect("values").len(), at.len(), "{}", column["id"]);
        }
        self.at.extend(at);
        self.generation = Some(generation);
        self.id.clone_from(&event.id);
        assert_eq!(event.id, format!("{generation}:{}", self.at.len()));
    }
}

pub fn numbers(array: &Value) -> Vec<f64> {
    array.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// A run's first event, as stored.
pub fn started_event(id: &str, target: &str) -> Event {
    serde_json::from_value(json!({
        "event": "run_started", "id": id, "at_unix_ms": 1_763_000_000_000_u64, "version": "0.1.0",
        "method": record::METHOD, "command": "run", "target": target, "goal": "zero-drop", "plan": "",
        "machine": Machine::default(),
    }))
    .expect("an event")
}

/// Begins a run under load.
pub fn begin_run(store: &Store, id: &str, target: &str) -> RunWriter {
    let mut recording = store.begin(&started_event(id, target)).expect("begins");
    let trial = Event::TrialStarted {
        trial: 1,
        purpose: Purpose::Load,
        rate: Some(Rate(1000.0)),
        duration: Some(Nanos::from_secs(600)),
        at_unix_ms: 1_763_000_000_100,
    };
    recording.append(&trial).expect("is taken");
    recording
}

/// Records seconds of load.
pub fn record_load(recording: &mut RunWriter, seconds: std::ops::Range<u32>) {
    for index in seconds {
        let mut slice =
            Slice { index, elapsed: Nanos::from_secs(1), due: 1000, sent: 1000, ..Slice::default() };
        slice.statuses.insert(200, 990);
        slice.statuses.insert(503, 10);
        slice.failures.insert(Failure::Status(503), 10);
        slice.outcomes.add(Outcome::Ok, 990);
        slice.outcomes.add(Outcome::Failed, 10);
        slice.response.record_many(Nanos::from_micros(500 + u64::from(index)), 1000);
        recording.append(&Event::SliceDone { trial: 1, slice: Box::new(slice) }).expect("is taken");
    }
}

/// Ends it, in the store.
pub fn end_run(mut recording: RunWriter) {
    let ended = Event::RunEnded(Box::new(record::RunEnd {
        at_unix_ms: 1_763_000_600_000,
        verdict: None,
        exit_code: 0,
        error: None,
    }));
    recording.append(&ended).expect("is taken");
    recording.finish().expect("is kept");
}

/// As if its process had been killed.
pub fn cut_short(folder: &StoreFolder, id: &str) {
    let db = rusqlite::Connection::open(folder.path()).expect("opens");
    let changed = db.execute("UPDATE run SET writer_boot = 'another' WHERE id = ?1", [id]).expect("updates");
    assert_eq!(changed, 1);
}

/// Waits until the store has this many events of the run.
pub fn wait_for(store: &Store, id: &str, events: usize) {
    let begin = std::time::Instant::now();
    while store.events(&RunId(id.to_owned())).map_or(0, Iterator::count) < events {
        assert!(begin.elapsed() < PATIENCE, "the events were not committed");
        std::thread::sleep(Duration::from_millis(20));
    }
}
