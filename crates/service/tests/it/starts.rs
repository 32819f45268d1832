//! What starts, and what does not.

use crate::scene::{Fixture, alone, free_port, guard, never_stop, read, refused, setup, wait_until};
use plan::{ReadyCondition, Template};
use service::{Error, Guard};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use testbed::NamedTest;
use units::Nanos;

pub const CHECKS: &[NamedTest] = &[
    ("starts::in_order_with_environment_folder_and_log", in_order_with_environment_folder_and_log),
    ("starts::files_are_there_and_come_back", files_are_there_and_come_back),
    ("starts::by_port_and_by_http", by_port_and_by_http),
    ("starts::what_cannot_be_executed_is_said", what_cannot_be_executed_is_said),
    ("starts::an_early_end_is_said_with_its_last_lines", an_early_end_is_said_with_its_last_lines),
    ("starts::never_ready_is_said_with_its_last_lines", never_ready_is_said_with_its_last_lines),
    ("starts::a_taken_port_names_its_holder", a_taken_port_names_its_holder),
    ("starts::a_port_that_another_takes_meanwhile", a_port_that_another_takes_meanwhile),
    ("starts::what_builds_it_runs_once", what_builds_it_runs_once),
    ("starts::interrupted", interrupted),
];

fn in_order_with_environment_folder_and_log() {
    let fixture = Fixture::new();
    let mut need = fixture.script("store", "sleep 0.1; echo store > order; echo ready; exec sleep 600");
    need.ready = ReadyCondition::Log("ready".to_owned());
    let mut service = fixture
        .script("service", "cat order; echo \"$GREETING from $(pwd)\"; echo ready >&2; exec sleep 600");
    service.env.push(("GREETING".to_owned(), Template::literal("hello")));
    let setup = setup(vec![need], service);
    Guard::check(&setup).expect("nothing is in the way");
    let mut guard = guard();
    let took = guard.up(&setup, &never_stop).expect("it starts");
    assert!(took > Nanos::ZERO);
    let names: Vec<String> = guard.pids().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["store", "service"]);
    // During exec a process's environment cannot be read.
    wait_until("they are the services", || {
        guard.pids().iter().all(|(_, pid)| fixture.marked_processes().contains(pid))
    });
    assert_eq!(guard.take_end_error(), None);
    let logs = guard.down();
    assert_eq!(logs.len(), 2);
    let folder = fixture.folder.path().canonicalize().expect("it is there");
    assert_eq!(logs[1].text, format!("store\nhello from {}\nready\n", folder.display()));
    assert!(guard.pids().is_empty());
    fixture.assert_empty();
    // The same guard starts it again.
    guard.up(&setup, &never_stop).expect("it starts again");
    assert_eq!(guard.down().len(), 2);
    fixture.assert_empty();
}

fn files_are_there_and_come_back() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("there"), "before").expect("ours");
    let mut service = fixture.script("service", "cat there new/one; echo; echo ready; exec sleep 600");
    service.files = vec![
        ("there".to_owned(), Template::literal("during ")),
        ("new/one".to_owned(), Template::literal("and new")),
    ];
    let mut guard = guard();
    guard.up(&alone(service.clone()), &never_stop).expect("it starts");
    assert_eq!(read(fixture.path("there")), "during ");
    assert_eq!(guard.down()[0].text, "during and new\nready\n");
    assert_eq!(read(fixture.path("there")), "before");
    assert!(!fixture.path("new").exists());
    service.files = vec![("there/below".to_owned(), Template::literal("x"))];
    let error = guard.up(&alone(service), &never_stop).expect_err("a file is no folder").to_string();
    assert!(error.contains("there/below") && error.contains("cannot be written"), "{error}");
    assert_eq!(read(fixture.path("there")), "before");
}

fn by_port_and_by_http() {
    let fixture = Fixture::new();
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        eprintln!("SKIPPED: python3 is not installed");
        return;
    }
    for http in [false, true] {
        let port = free_port();
        let mut service =
            fixture.script("service", &format!("python3 -m http.server --bind 127.0.0.1 {port}"));
        let url = format!("http://127.0.0.1:{port}/");
        service.ready = if http { ReadyCondition::Http(url) } else { ReadyCondition::Port(port) };
        let setup = alone(service);
        Guard::check(&setup).expect("the port is free");
        let mut guard = guard();
        guard.up(&setup, &never_stop).expect("it starts");
        let error = Guard::check(&setup).expect_err("it runs").to_string();
        assert!(error.contains(&format!("port {port}")) && error.contains("(python"), "{error}");
        guard.down();
        fixture.assert_empty();
        Guard::check(&setup).expect("the port is free again");
    }
}

fn what_cannot_be_executed_is_said() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("data"), "no program").expect("ours");
    std::fs::write(fixture.path("script"), "#!/not/there\n").expect("ours");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(fixture.path("script"), std::fs::Permissions::from_mode(0o755)).expect("ours");
    for (word, expected) in [
        ("./data", "may not be executed"),
        ("./script", "its first line names"),
        ("./absent", "is not there"),
        ("no-such-program", "is not in PATH"),
    ] {
        let mut service = fixture.script("service", "");
        service.command = vec![Template::literal(word)];
        let setup = alone(service);
        let error = refused(&setup);
        assert!(matches!(error, Error::Start { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.starts_with("service does not start: ") && error.contains(expected), "{error}");
        if word != "./script" {
            assert_eq!(Guard::check(&setup).expect_err("seen before").to_string(), error);
        }
    }
    let mut service = fixture.script("service", "");
    service.folder = fixture.path("absent").to_str().expect("ours").to_owned();
    let error = Guard::check(&alone(service)).expect_err("no folder").to_string();
    assert!(error.contains("is not there: make it, or correct `folder`"), "{error}");
}

fn an_early_end_is_said_with_its_last_lines() {
    let fixture = Fixture::new();
    let error = refused(&alone(fixture.script("service", "seq 100; echo no such pool >&2; exit 3")));
    let Error::Ended { program, status, last } = &error else { panic!("{error:?}") };
    assert_eq!((program.as_str(), status.as_str()), ("service", "exit status 3"));
    assert_eq!((last.len(), last[9].as_str(), last[0].as_str()), (10, "no such pool", "92"));
    assert!(error.to_string().ends_with("\n    no such pool"), "{error}");
    let error = refused(&alone(fixture.script("service", "kill -9 $$")));
    assert!(error.to_string().contains("signal 9 (KILL"), "{error}");
    // A dependency that ends while the service is awaited.
    let need = fixture.script("store", "echo ready; sleep 0.2; echo disk is full; exit 1");
    let error = refused(&setup(vec![need], fixture.script("service", "exec sleep 600")));
    assert!(error.to_string().starts_with("store ended with exit status 1"), "{error}");
    fixture.assert_empty();
    // One that ends later.
    let mut guard = guard();
    let service = fixture.script("service", "echo ready; sleep 0.2; echo over; exit 4");
    guard.up(&alone(service), &never_stop).expect("it starts");
    let mut ended = None;
    wait_until("its end is told", || {
        ended = guard.take_end_error();
        ended.is_some()
    });
    let error = ended.expect("it was waited for").to_string();
    assert!(error.contains("service ended with exit status 4") && error.contains("    over"), "{error}");
    assert_eq!(guard.take_end_error(), None);
    assert!(guard.pids().is_empty());
    assert_eq!(guard.down()[0].text, "ready\nover\n");
}

fn never_ready_is_said_with_its_last_lines() {
    let fixture = Fixture::new();
    let port = free_port();
    for (ready, expected) in [
        (ReadyCondition::Log("started".to_owned()), "printed no line with 'started'".to_owned()),
        (ReadyCondition::Port(port), format!("nothing listens at 127.0.0.1:{port}")),
        (
            ReadyCondition::Http(format!("http://127.0.0.1:{port}/up")),
            format!("http://127.0.0.1:{port}/up was not answered"),
        ),
    ] {
        let mut service = fixture.script("service", "echo waiting for the store; exec sleep 600");
        service.ready = ready;
        service.within = Nanos::from_millis(700);
        let error = refused(&alone(service)).to_string();
        assert!(error.contains("not ready within 700 ms") && error.contains(&expected), "{error}");
        assert!(error.ends_with("\n    waiting for the store"), "{error}");
    }
    fixture.assert_empty();
}

fn a_taken_port_names_its_holder() {
    let fixture = Fixture::new();
    let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = holder.local_addr().expect("it is bound").port();
    let mut service = fixture.script("service", "touch started; exec sleep 600");
    service.ready = ReadyCondition::Port(port);
    for error in [Guard::check(&alone(service.clone())).expect_err("taken"), refused(&alone(service))] {
        let Error::PortTaken { port: found, by: Some((name, pid)), .. } = &error else { panic!("{error:?}") };
        assert_eq!((*found, *pid), (port, std::process::id()));
        assert!(
            !name.is_empty() && error.to_string().contains(&format!("process {pid} ({name})")),
            "{error}"
        );
    }
    assert!(!fixture.path("started").exists());
}

fn a_port_that_another_takes_meanwhile() {
    let fixture = Fixture::new();
    let port = free_port();
    let mut service = fixture.script("service", "touch started; exec sleep 600");
    service.ready = ReadyCondition::Port(port);
    let started = fixture.path("started");
    let thief = std::thread::spawn(move || {
        wait_until("the service starts", || started.exists());
        TcpListener::bind(("127.0.0.1", port)).expect("nobody has it yet")
    });
    let error = refused(&alone(service));
    drop(thief.join().expect("it listened"));
    assert!(
        matches!(error, Error::PortTaken { by: Some((_, pid)), .. } if pid == std::process::id()),
        "{error:?}"
    );
    fixture.assert_empty();
}

fn what_builds_it_runs_once() {
    let fixture = Fixture::new();
    let mut service = fixture.script("service", "exec ./built");
    service.prepare = [
        "sh",
        "-c",
        "echo built >> log; printf '#!/bin/sh\\necho ready; exec sleep 600' > built; chmod +x built",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut other = service.clone();
    other.name = "other".to_owned();
    let both = setup(vec![other], service.clone());
    let mut guard = guard();
    Guard::check(&both).expect("what is built need not be there");
    guard.prepare(&both, &never_stop).expect("it is built");
    guard.prepare(&both, &never_stop).expect("it is built already");
    assert_eq!(read(fixture.path("log")), "built\n");
    guard.up(&both, &never_stop).expect("it starts");
    assert_eq!(guard.down().len(), 2, "what built it is no program of the plan");
    service.prepare = ["sh", "-c", "echo cannot find symbol; exit 2"].map(str::to_owned).to_vec();
    let error = guard.prepare(&alone(service.clone()), &never_stop).expect_err("it fails").to_string();
    assert!(
        error.starts_with(
            "service is not built: 'sh -c echo cannot find symbol; exit 2' ended with exit status 2"
        ),
        "{error}"
    );
    assert!(error.ends_with("\n    cannot find symbol"), "{error}");
    service.prepare = ["sh", "-c", "sleep 600"].map(str::to_owned).to_vec();
    assert_eq!(guard.prepare(&alone(service), &|| true), Err(Error::Interrupted));
    fixture.assert_empty();
}

fn interrupted() {
    let fixture = Fixture::new();
    let checks = AtomicU32::new(0);
    let setup = alone(fixture.script("service", "exec sleep 600"));
    let mut guard = guard();
    let stopped = guard.up(&setup, &|| checks.fetch_add(1, Ordering::Relaxed) > 5);
    assert_eq!(stopped, Err(Error::Interrupted));
    fixture.assert_empty();
    assert_eq!(guard.down().len(), 1, "its log is there all the same");
}
