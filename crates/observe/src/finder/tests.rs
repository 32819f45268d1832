//! Tests with real processes: this test binary, restarted as a listener.

use super::*;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that listens and has a child. It ends with its standard input.
struct Server {
    child: Child,
    at: SocketAddr,
}

impl Server {
    /// Listens at this address, and connects to another one.
    fn start(at: &str, to: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args(["--exact", "finder::tests::as_server", "--ignored", "--nocapture"]);
        command.env("LISTEN", at).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Its test harness complains about a closed pipe.
        command.stderr(Stdio::null());
        if let Some(to) = to {
            command.env("CONNECT", to);
        }
        let mut child = command.spawn().expect("it is there");
        let lines = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        let found = lines.map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("listens at ")?;
            rest.trim().parse().ok()
        });
        Self { child, at: found.expect("it says where it listens") }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn end(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
#[ignore = "started by other tests"]
fn as_server() {
    let at = std::env::var("LISTEN").expect("it was given");
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().expect("it is there");
    let to = std::env::var("CONNECT").ok();
    let (local_to, to): (Option<String>, Option<String>) =
        if to.as_ref().is_some_and(|to| to.starts_with('/')) { (to, None) } else { (None, to) };
    let to = to.map(|to| TcpStream::connect(to).expect("it listens"));
    let local_to = local_to.map(|to| UnixStream::connect(to).expect("it listens"));
    let listener = (!at.starts_with('/')).then(|| TcpListener::bind(&at).expect("the port is free"));
    let local = at.starts_with('/').then(|| UnixListener::bind(&at).expect("the path is free"));
    let address = listener.as_ref().map(|l| l.local_addr().expect("it is bound").to_string());
    println!("\nlistens at {}", address.unwrap_or_else(|| "0.0.0.0:0".to_owned()));
    std::io::stdout().flush().expect("somebody reads");
    // Accepts and keeps connections.
    if let Some(listener) = listener {
        std::thread::spawn(move || listener.incoming().flatten().collect::<Vec<_>>());
    }
    if let Some(local) = local {
        std::thread::spawn(move || local.incoming().flatten().collect::<Vec<_>>());
    }
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    child.kill().expect("it is our own");
    child.wait().expect("it is our own");
    drop((to, local_to));
}

/// Looks until the condition holds: processes come and go at any time.
fn until(finder: &mut Finder, what: &str, is_so: impl Fn(&WatchScope) -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so(finder.scope()) {
        assert!(Instant::now() < end, "no {what}: {:?}", finder.scope());
        std::thread::sleep(Duration::from_millis(100));
        finder.refresh();
    }
}

#[test]
fn the_listener_and_its_children() {
    let server = Server::start("127.0.0.1:0", None);
    let mut finder = Finder::new(&WatchPlan::default(), &TargetLocation::Tcp(vec![server.at]));
    until(&mut finder, "child", |scene| scene.subjects[0].pids.len() == 2);
    let cast = &finder.scope().subjects[0];
    assert_eq!((cast.about.pid, cast.pids[0]), (server.pid(), server.pid()));
    assert_eq!(cast.about.listens, [server.at.to_string()]);
    assert_eq!(cast.about.role, TreeRole::Service);
    assert!(cast.about.command.contains("finder::tests::as_server"), "{}", cast.about.command);
    assert_eq!(finder.scope().missing, []);
    assert_eq!(finder.scope().level, AccessLevel::Full);
}

#[test]
fn a_service_that_is_restarted_is_found_again() {
    let server = Server::start("127.0.0.1:0", None);
    let (at, before) = (server.at, server.pid());
    let mut finder = Finder::new(&WatchPlan::default(), &TargetLocation::Tcp(vec![at]));
    assert_eq!(finder.scope().subjects[0].about.pid, before);
    server.end();
    until(&mut finder, "end", |scene| scene.subjects[0].pids.is_empty());
    assert!(finder.changes().iter().any(|change| change.starts_with(&format!("process {before} ("))));
    assert!(finder.scope().missing.iter().any(|missing| missing.why.contains("nothing listens at")));
    let server = Server::start(&at.to_string(), None);
    until(&mut finder, "successor", |scene| scene.subjects[0].about.pid == server.pid());
    assert!(finder.changes().iter().any(|change| change.contains("is the service now")));
    assert_eq!(finder.scope().missing, []);
}

#[test]
fn whom_it_talks_to() {
    let downstream = Server::start("127.0.0.1:0", None);
    let stranger = Server::start("127.0.0.1:0", None);
    // torment's own connection makes no process part of the service.
    let _own = TcpStream::connect(stranger.at).expect("it listens");
    let server = Server::start("127.0.0.1:0", Some(&downstream.at.to_string()));
    let mut finder = Finder::new(&WatchPlan::default(), &TargetLocation::Tcp(vec![server.at]));
    until(&mut finder, "downstream", |scene| scene.subjects.len() == 2 && scene.subjects[1].pids.len() == 2);
    let subject = &finder.scope().subjects[1].about;
    assert_eq!((subject.role, subject.pid), (TreeRole::Downstream, downstream.pid()));
    assert_eq!(subject.listens, [downstream.at.to_string()]);
    finder.refresh();
    assert_eq!(finder.scope().subjects.len(), 2);
}

/// As nginx connects to PHP-FPM and to gunicorn, by their manuals.
#[test]
fn whom_it_talks_to_by_a_local_socket() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("behind").to_string_lossy().into_owned();
    let downstream = Server::start(&path, None);
    let server = Server::start("127.0.0.1:0", Some(&path));
    let mut finder = Finder::new(&WatchPlan::default(), &TargetLocation::Tcp(vec![server.at]));
    until(&mut finder, "downstream", |scene| scene.subjects.len() == 2 && scene.subjects[1].pids.len() == 2);
    let subject = &finder.scope().subjects[1].about;
    assert_eq!((subject.role, subject.pid), (TreeRole::Downstream, downstream.pid()));
    assert_eq!(subject.listens, [format!("unix {path}")]);
}

#[test]
fn by_number_command_and_local_socket() {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("of-the-server");
    let server = Server::start(&path.to_string_lossy(), None);
    // A process just started has its parent's command line for a moment.
    let first = |asked: &WatchPlan, target: &TargetLocation| {
        let mut finder = Finder::new(asked, target);
        until(&mut finder, "service", |scene| scene.subjects[0].about.pid != 0);
        finder.scope().subjects[0].about.pid
    };
    let pids = WatchPlan { pids: vec![server.pid()], ..WatchPlan::default() };
    assert_eq!(first(&pids, &TargetLocation::Unknown), server.pid());
    assert_eq!(first(&WatchPlan::default(), &TargetLocation::Unix(path)), server.pid());
    let mut known = sleeper("61.25");
    let command = WatchPlan { command: Some("sleep 61.25".to_owned()), ..WatchPlan::default() };
    assert_eq!(first(&command, &TargetLocation::Unknown), known.id());
    let _ = known.kill();
    let _ = known.wait();
    // A PID beats the address: even torment's own.
    let own = WatchPlan { pids: vec![std::process::id()], ..WatchPlan::default() };
    assert_eq!(first(&own, &TargetLocation::Unknown), std::process::id());
}

#[test]
fn whoever_is_beside_the_watcher_but_not_the_watcher() {
    let server = Server::start("127.0.0.1:0", None);
    let mut finder = Finder::new(&WatchPlan::default(), &TargetLocation::Inside);
    until(&mut finder, "service", |scene| scene.subjects[0].pids.contains(&server.pid()));
    assert!(!finder.scope().subjects[0].pids.contains(&std::process::id()));
}

fn sleeper(seconds: &str) -> Child {
    Command::new("sleep").arg(seconds).spawn().expect("it is there")
}

#[test]
fn nobody_is_said_to_be_nobody() {
    let check = |asked: &WatchPlan, target: &TargetLocation, why: &str| {
        let finder = Finder::new(asked, target);
        let scene = finder.scope();
        assert!(scene.subjects[0].pids.is_empty() && scene.level == AccessLevel::Outside, "{scene:?}");
        assert!(scene.missing.iter().any(|missing| missing.why.contains(why)), "{why}: {scene:?}");
    };
    let watch = WatchPlan::default();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let own = listener.local_addr().expect("it is bound");
    check(&watch, &TargetLocation::Tcp(vec![own]), "torment itself listens");
    // Not a port that was free a moment ago: another test may have taken it, or a process that it starts
    // may still hold it.
    let reserved = "127.0.0.1:1".parse().expect("it is one");
    check(&watch, &TargetLocation::Tcp(vec![reserved]), "nothing listens at");
    let elsewhere = "192.0.2.1:80".parse().expect("it is one");
    check(&watch, &TargetLocation::Tcp(vec![elsewhere]), "not an address of this machine");
    check(
        &watch,
        &TargetLocation::Unix(Path::new("/proc/nowhere").to_owned()),
        "nothing listens at /proc/nowhere",
    );
    check(&watch, &TargetLocation::Unknown, "name its process");
    let pid = WatchPlan { pids: vec![u32::MAX], ..WatchPlan::default() };
    check(&pid, &TargetLocation::Unknown, "there is no process 4294967295");
    let group = WatchPlan { cgroup: Some("no/such".to_owned()), ..WatchPlan::default() };
    check(&group, &TargetLocation::Unknown, "no process is in the control group 'no/such'");
    let command = WatchPlan { command: Some("no such command, surely".to_owned()), ..WatchPlan::default() };
    check(&command, &TargetLocation::Unknown, "no process has 'no such command, surely'");
}

#[test]
fn a_postgresql_with_its_backends() {
    let Some(server) = testbed::TestPostgres::start() else { return };
    let url = server.url();
    let mut client = postgres::Client::connect(&url, postgres::NoTls).expect("it takes connections");
    let row = client.query_one("SELECT pg_backend_pid()", &[]).expect("it answers");
    let backend = row.get::<_, i32>(0) as u32;
    let asked = WatchPlan { pids: vec![server.pid()], ..WatchPlan::default() };
    let mut finder = Finder::new(&asked, &TargetLocation::Unknown);
    until(&mut finder, "backend", |scene| scene.subjects[0].pids.contains(&backend));
    let cast = &finder.scope().subjects[0];
    assert_eq!(cast.pids[0], server.pid());
    assert!(cast.about.is_postgres && cast.pids.len() > 3, "{cast:?}");
    drop(client);
    until(&mut finder, "end of the backend", |scene| !scene.subjects[0].pids.contains(&backend));
    assert_eq!(finder.changes(), Vec::<String>::new());
}
