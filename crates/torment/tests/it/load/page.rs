//! The page of real runs: live, afterwards, and as a file.

use crate::program::serving::ServingTorment;
use crate::program::{LoadTurn, RunningProcess, Sandbox};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// Where a document is inserted.
const PLACE: &str = "id=\"document\">";

#[test]
fn a_run_is_seen_while_it_goes_on_and_kept_as_a_file() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    let running = ServingTorment::start(
        &sandbox,
        &["run", "demo", "-r", "200", "-d", "6s", "--page=127.0.0.1:0"],
        true,
    );
    let page = running.get("/");
    let is_built = page.contains(PLACE);
    assert!(is_built || page.contains("make page build"), "{page}");

    let begin = Instant::now();
    let home = loop {
        let home = running.json("/api/home")["home"].as_str().expect("a place").to_owned();
        if home != "#/" {
            break home;
        }
        assert!(begin.elapsed() < PATIENCE, "the run does not begin");
        sleep(Duration::from_millis(20));
    };
    let id = home.strip_prefix("#/runs/").expect("the run").to_owned();
    assert_eq!(running.json("/api/history")["runs"][0]["id"], *id);

    let mut events = Vec::new();
    let mut told = String::new();
    running.ask(&format!("/api/runs/{id}/events")).read_to_string(&mut told).expect("until the end");
    let mut name = "";
    for line in told.lines() {
        if let Some(word) = line.strip_prefix("event: ") {
            name = word;
        } else if let Some(text) = line.strip_prefix("data: ") {
            events.push((name, serde_json::from_str::<Value>(text).expect("JSON")));
        }
    }
    let states: Vec<&Value> =
        events.iter().filter(|(name, _)| *name == "front").map(|(_, data)| &data["head"]["state"]).collect();
    assert_eq!((states.first(), states.last()), (Some(&&"running".into()), Some(&&"ended".into())), "{told}");
    let batches = events.iter().filter(|(name, _)| *name == "rows").count();
    assert!(batches > 1, "rows came as the run went on: {told}");
    let (last, how) = events.last().expect("an end");
    assert_eq!((*last, &how["state"]), ("end", &"ended".into()), "{told}");
    assert!([0, 92].contains(&running.wait()));

    let file = sandbox.path("run.html");
    let written = sandbox.torment(["report", "last", "-o", "run.html"]);
    if !is_built {
        println!("skipped: this binary holds no page to be frozen");
        written.expect_error(1, &["make page build"]);
        return;
    }
    assert!(written.expect(0).stdout.contains("wrote run.html ("));
    let html = std::fs::read_to_string(&file).expect("it was written");
    assert!(html.len() < 1_500_000, "{} bytes of a run of seconds", html.len());
    let json = html.split_once(PLACE).expect("the document").1.split_once("</script>").expect("its end").0;
    let document: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(document["front"]["head"]["id"], *id);
    assert!(html.contains("<meta property=\"og:title\" content=\"torment run demo"));
    assert!(document["timeline"]["at"].as_array().is_some_and(|at| at.len() >= 5), "{document}");

    // Again, over the same file, to the default one, and to standard output.
    sandbox.torment(["report", &id, "-o", "run.html"]).expect(0);
    sandbox.torment(["report"]).expect(0);
    assert!(sandbox.path(&format!("run-{id}.html")).is_file());
    assert!(sandbox.torment(["report", "-o", "-"]).expect(0).stdout.trim_end().ends_with("</html>"));
    let folder = sandbox.path("folder");
    std::fs::create_dir(&folder).expect("the place is ours");
    sandbox
        .torment(["report", "-o", "folder"])
        .expect_error(2, &["'folder' is a folder", &format!("folder/run-{id}.html")]);
    // The run is one load: its picture shows how it went.
    sandbox.torment(["report", "-o", "load.svg"]).expect(0);
    let picture = std::fs::read_to_string(sandbox.path("load.svg")).expect("it was written");
    assert!(picture.contains(">rate, a second</text>") && picture.contains("course achieved"), "{picture}");
    sandbox
        .torment(["report", "-o", "none/run.html"])
        .expect_error(1, &["'none/run.html' cannot be written"]);
    sandbox.torment(["report", "nothing"]).expect_error(1, &["no run 'nothing' among the 1 kept"]);
}

/// The page's content in words, with the picture beside it.
#[test]
fn a_run_is_written_as_markdown() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    sandbox.torment(["run", "null", "-r", "100", "-d", "1s", "-q", "--name", "load"]).measured();
    let said = sandbox.torment(["report", "load", "--markdown"]).expect(0);
    assert!(said.stdout.starts_with("# torment run null\n\n"), "{said}");
    assert!(
        said.stdout.contains("\n## How it was measured\n") && said.stderr.contains("-o FILE.md writes it"),
        "{said}"
    );
    let (_, written) = sandbox.json(["report", "load", "-o", "load.md"]);
    assert_eq!(written["picture"], "load-rate.svg", "{written}");
    let text = std::fs::read_to_string(sandbox.path("load.md")).expect("it was written");
    assert!(text.contains("](load-rate.svg)\n"), "{text}");

    // However it ends: there are trials, and so a picture.
    let find = ["find", "demo/delay?ms=10", "--from", "150", "--max", "300", "--trial", "1s", "-q"];
    sandbox.torment(find.into_iter().chain(["--name", "search"]));
    let said = sandbox.torment(["report", "search", "--markdown"]).expect(0);
    assert!(said.stderr.contains("no picture is written; -o FILE.md"), "{said}");
    assert!(!said.stdout.contains("!["), "{said}");
    let written = sandbox.torment(["report", "search", "-o", "the search.md"]).expect(0);
    assert!(written.stdout.contains("Markdown, with the search-limit.svg beside it"), "{written}");
    let text = std::fs::read_to_string(sandbox.path("the search.md")).expect("it was written");
    assert!(text.contains("](the%20search-limit.svg)\n"), "{text}");
    let picture = std::fs::read_to_string(sandbox.path("the search-limit.svg")).expect("it was written");
    assert!(picture.starts_with("<svg "), "{picture}");
    sandbox
        .torment(["report", "-o", "none/run.md"])
        .expect_error(1, &["'none/run-limit.svg' cannot be written"]);
}

#[test]
fn all_runs_are_served_until_somebody_ends_it() {
    let sandbox = Sandbox::new();
    let serving = ServingTorment::start(&sandbox, &["serve", "--listen", "0"], false);
    assert_eq!(
        serving.json("/api/history")["runs"],
        Value::Array(Vec::new()),
        "the store is made where there is none"
    );
    sandbox.torment(["run", "null", "-r", "100", "-d", "1s", "-q"]).measured();
    let runs = serving.json("/api/history");
    assert_eq!(runs["runs"][0]["state"], "ended", "what another process made is seen: {runs}");
    assert_eq!(serving.json("/api/home")["home"], "#/");
    let pid = i32::try_from(serving.pid()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process has an id"), Signal::INT).expect("it is our child");
    assert_eq!(serving.wait(), 0);
}

#[test]
fn where_nothing_can_be_served_that_is_said_before_the_run() {
    let sandbox = Sandbox::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let at = socket.local_addr().expect("it is bound").to_string();
    let pid = std::process::id().to_string();
    let page = format!("--page={at}");
    let load = ["run", "null", "-r", "1", "-d", "1s", "-q"];
    sandbox
        .torment(load.into_iter().chain([page.as_str()]))
        .expect_error(1, &[&at, "is taken by", &pid, "--page=0"]);
    sandbox.torment(["serve", "--listen", &at]).expect_error(1, &[&at, "is taken by", &pid, "--listen 0"]);
    sandbox
        .torment(["serve", "--listen", "192.0.2.1"])
        .expect_error(1, &["no address 192.0.2.1", "127.0.0.1"]);
    sandbox
        .torment(load.into_iter().chain(["--page", "--no-store"]))
        .expect_error(2, &["--no-store keeps nothing"]);
    let ended = sandbox.torment(["run", "null", "--page=nowhere"]).expect(2);
    assert!(ended.stderr.contains("cannot listen at 'nowhere'"), "{ended}");
    let ended = sandbox.torment(["serve", "--token", "short"]).expect(2);
    assert!(ended.stderr.contains("at least 8 letters"), "{ended}");
}

#[test]
fn others_need_a_token() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(["serve", "--listen", "0.0.0.0:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut said = String::new();
    let read = BufReader::new(child.stdout.take().expect("it was piped")).read_line(&mut said);
    let ended = child.kill().and_then(|()| child.wait());
    read.expect("a pipe can be read");
    ended.expect("it is our child");
    let (_, token) = said.trim_end().split_once("/?token=").unwrap_or_else(|| panic!("no token: {said}"));
    assert!(token.len() == 32 && token.chars().all(|c| c.is_ascii_hexdigit()), "{said}");
}

#[test]
fn a_page_at_no_address_of_its_own_takes_any_port() {
    let _turn = LoadTurn::shared();
    let sandbox = Sandbox::new();
    // Occupies the default port, unless another process has it.
    let _usual = TcpListener::bind("127.0.0.1:7979");
    let running = RunningProcess::start(sandbox.command(["run", "null", "-r", "100", "-d", "1s", "--page"]));
    let ended = running.end().measured();
    let line = ended.stderr.lines().find(|line| line.contains("the page of this run: http://127.0.0.1:"));
    assert!(line.is_some_and(|line| !line.contains(":7979/")), "{ended}");
}
