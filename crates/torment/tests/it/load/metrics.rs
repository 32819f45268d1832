//! A run's metrics in other tools while it lasts: scraped, and pushed.

use crate::program::odd_servers::{server, silent, tls};
use crate::program::serving::ServingTorment;
use crate::program::target::free_port;
use crate::program::{LoadTurn, ProcessOutput, RunningProcess, SOON, Sandbox, outcome, outcomes};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::Duration;

/// Request counters by name and outcome, if any, from a metrics text.
fn counters(text: &str) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("torment_requests_")) {
        let (name, rest) = line.split_once('{').expect("labels");
        let (labels, value) = rest.rsplit_once("} ").expect("a value");
        let outcome = labels.split("outcome=\"").nth(1).and_then(|rest| rest.split('"').next());
        if let (true, Ok(value)) = (name.ends_with("_total"), value.parse()) {
            found.insert(format!("{name} {}", outcome.unwrap_or_default()).trim_end().to_owned(), value);
        }
    }
    found
}

/// Totals over the trials of a stored run.
fn account(run: &Value) -> BTreeMap<String, u64> {
    // A load is one trial, a search has several.
    let trials = match run["trials"].as_array() {
        Some(trials) => trials.iter().collect(),
        None => vec![&run["trial"]],
    };
    let sum = |of: &dyn Fn(&Value) -> u64| trials.iter().copied().map(of).sum::<u64>();
    let mut account = BTreeMap::new();
    for name in ["ok", "late", "failed", "timeout", "refused", "unsent", "unfinished"] {
        account.insert(format!("torment_requests_total {name}"), sum(&|trial| outcome(trial, name)));
    }
    let due = sum(&|trial| trial["due"].as_u64().expect("a count"));
    assert_eq!(due, sum(&outcomes), "{run:#}");
    account.insert("torment_requests_due_total".to_owned(), due);
    account
}

#[test]
fn a_search_is_scraped_while_it_goes_on_and_sums_to_its_account() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let search = ["find", "demo", "--budget", "8s", "--trial", "2s", "-q", "--page=127.0.0.1:0"];
    let mut running = ServingTorment::start(&sandbox, &search, true);
    let (mut scrapes, mut before) = (0, BTreeMap::new());
    while running.is_running() {
        let Some(answer) = running.try_get("/metrics") else { continue };
        let (head, text) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer}"));
        assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
        let now = counters(text);
        for (name, value) in &before {
            assert!(now.get(name) >= Some(value), "{name} fell from {value}: {text}");
        }
        if !now.is_empty() {
            assert!(text.contains("torment_run_running{") && text.contains("command=\"find\""), "{text}");
            scrapes += 1;
        }
        before = now;
        sleep(Duration::from_millis(200));
    }
    // Forty on an idle machine.
    assert!(scrapes > 2, "{scrapes} scrapes of a run of seconds");
    assert!(before["torment_requests_total ok"] > 0, "{before:?}");

    // A scraper that comes less often still gets everything.
    let (_, run) = sandbox.json(["show"]);
    let expected = account(&run);
    let serving = ServingTorment::start(&sandbox, &["serve", "--listen", "0"], false);
    let text = serving.get("/metrics");
    let told = counters(&text);
    for (name, value) in &expected {
        assert_eq!(told.get(name), Some(value), "{name}: {text}");
        assert!(before[name] <= *value, "{name} was {} before the end, {value} is all", before[name]);
    }
    assert!(text.contains("torment_limit{") && text.contains("bound=\"lower\""), "{text}");
    assert!(text.contains("torment_target_threads{") && text.contains("program=\"torment\""), "{text}");
    let count = text.lines().find(|line| line.starts_with("torment_response_time_seconds_count{"));
    let answered = told["torment_requests_total ok"].to_string();
    assert!(count.is_some_and(|line| line.ends_with(&format!("}} {answered}"))), "{count:?} of {answered}");
}

/// A request received by a collector: head and body.
type PushRequest = (String, Value);

/// A collector that accepts everything, and passes it on.
fn collector() -> (SocketAddr, Receiver<PushRequest>) {
    let (to, got) = channel();
    let to = Mutex::new(to);
    let address = server(move |stream| {
        let to: Sender<PushRequest> = to.lock().expect("nobody panics with it").clone();
        let _ = take(&stream, &to);
    });
    (address, got)
}

/// Receives one connection's requests, one after the other.
fn take(mut stream: &TcpStream, to: &Sender<PushRequest>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or_else(|| panic!("no length: {head}"))];
        reader.read_exact(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or_else(|e| panic!("no JSON ({e}): {head}"));
        if to.send((head, body)).is_err() {
            return Ok(());
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")?;
    }
}

/// The sum of a pushed counter over one outcome.
fn pushed(body: &Value, name: &str, outcome: &str) -> u64 {
    let metrics = body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].as_array().expect("metrics");
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    let points = metric.unwrap_or_else(|| panic!("no {name} in {body:#}"))["sum"]["dataPoints"].as_array();
    let is_it = |point: &&Value| {
        let attributes = point["attributes"].as_array().expect("attributes");
        attributes.iter().any(|a| a["key"] == "outcome" && a["value"]["stringValue"] == outcome)
    };
    let point =
        points.expect("points").iter().find(is_it).unwrap_or_else(|| panic!("no {outcome}: {body:#}"));
    point["asInt"].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number: {point}"))
}

/// A load whose measures are pushed to a collector.
fn load(sandbox: &Sandbox, to: &str, seconds: &str, headers: Option<&str>) -> ProcessOutput {
    let mut command = sandbox.command(["run", "null", "-r", "100", "-d", seconds, "--otlp", to]);
    if let Some(headers) = headers {
        command.env("OTEL_EXPORTER_OTLP_HEADERS", headers);
    }
    RunningProcess::start(command).end().measured()
}

#[test]
fn a_collector_gets_pushes_and_at_last_all_of_the_run() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let (address, got) = collector();
    let secret = "Bearer%20geheim-und-lang";
    let ended =
        load(&sandbox, &format!("http://{address}/below"), "3s", Some(&format!("Authorization={secret}")));
    assert!(!ended.stderr.contains("pushes"), "nothing failed: {ended}");
    let pushes: Vec<PushRequest> = got.try_iter().collect();
    assert!(pushes.len() >= 2, "{} pushes in three seconds", pushes.len());
    for (head, body) in &pushes {
        assert!(head.starts_with("POST /below/v1/metrics HTTP/1.1\r\n"), "{head}");
        let lower = head.to_ascii_lowercase();
        assert!(lower.contains("content-type: application/json\r\n"), "{head}");
        assert!(lower.contains("authorization: bearer geheim-und-lang\r\n"), "{head}");
        let attributes = &body["resourceMetrics"][0]["resource"]["attributes"];
        assert_eq!(attributes[0]["value"]["stringValue"], "torment", "{attributes}");
    }
    let ok: Vec<u64> = pushes
        .iter()
        .filter(|(_, body)| has_requests(body))
        .map(|(_, body)| pushed(body, "torment_requests", "ok"))
        .collect();
    assert!(ok.is_sorted(), "{ok:?}");
    let (_, run) = sandbox.json(["show"]);
    assert_eq!(ok.last(), account(&run).get("torment_requests_total ok"), "{run:#}");
    let kept = std::fs::read(sandbox.store()).expect("it was kept");
    for text in [ended.stdout.as_bytes(), ended.stderr.as_bytes(), &kept] {
        assert!(!text.windows(6).any(|part| part == b"geheim"), "the header was printed or kept");
    }
}

fn has_requests(body: &Value) -> bool {
    body["resourceMetrics"].as_array().is_some_and(|runs| !runs.is_empty())
}

/// A run once would have waited for a collector that does not answer.
#[test]
fn a_collector_that_hangs_or_is_away_costs_a_line() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    for (address, why) in [
        (silent(), "no answer"),
        (SocketAddr::from(([127, 0, 0, 1], free_port())), "nothing listens there (connection refused)"),
        (server(drop), ""),
    ] {
        let ended = load(&sandbox, &format!("http://{address}"), "2s", None);
        assert!(ended.took < SOON, "it waited: {ended}");
        let notes: Vec<&str> =
            ended.stderr.lines().filter(|line| line.contains("pushes to http://")).collect();
        let [note] = notes[..] else { panic!("not one note: {ended}") };
        assert!(note.starts_with("torment: ") && note.contains("failed; the last of them: "), "{note}");
        assert!(note.contains(why), "{note}");
    }
}

#[test]
fn a_collector_over_tls_is_trusted_by_its_authority_only() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let tls = tls();
    let url = format!("https://localhost:{}", tls.address.port());
    let ended = load(&sandbox, &url, "3s", None);
    assert!(
        ended.stderr.contains("failed; the last of them: ") && ended.stderr.contains("certificate"),
        "{ended}"
    );
    sandbox.write("authority.pem", &tls.authority);
    let mut command = sandbox.command(["run", "null", "-r", "100", "-d", "3s", "--otlp", &url]);
    command.env("SSL_CERT_FILE", sandbox.path("authority.pem"));
    let ended = RunningProcess::start(command).end().measured();
    assert!(!ended.stderr.contains("certificate"), "{ended}");
}

#[test]
fn what_cannot_be_pushed_is_said_before_the_run() {
    let sandbox = Sandbox::new();
    let load = ["run", "null", "-r", "1", "-d", "1s", "-q"];
    for (to, why) in [
        ("127.0.0.1:4318", "does not begin with http:// or https://"),
        ("grpc://127.0.0.1:4317", "neither http nor https"),
        ("http://me:secret@127.0.0.1", "OTEL_EXPORTER_OTLP_HEADERS"),
    ] {
        let ended = sandbox.torment(load.into_iter().chain(["--otlp", to])).expect(2);
        assert!(ended.stderr.contains(why), "{ended}");
    }
    let to = ["--otlp", "http://127.0.0.1:1"];
    sandbox
        .torment(load.into_iter().chain(to).chain(["--no-store"]))
        .expect_error(2, &["--otlp", "--no-store keeps nothing"]);
    let mut command = sandbox.command(load.into_iter().chain(to));
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "a=1,geheim");
    let message =
        RunningProcess::start(command).end().expect_error(2, &["OTEL_EXPORTER_OTLP_HEADERS", "2. entry"]);
    assert!(!message.contains("geheim"), "{message}");
}
