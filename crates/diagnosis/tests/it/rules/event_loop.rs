//! A single event loop that saturates a processor.

use crate::builders::*;
use record::watch::{
    BusyThreads, ListenSocket, Neighbour, ThreadGroup, ThreadWait, TreeRole, WatchCoverage, WatchedProcesses,
    Window,
};
use record::{Cause, Diagnosis};

fn service(name: &str, command: &str, cpus: f64) -> WatchCoverage {
    let subject = WatchedProcesses {
        pid: 1,
        role: TreeRole::Service,
        name: name.to_owned(),
        command: command.to_owned(),
        cpus,
        ..WatchedProcesses::default()
    };
    WatchCoverage {
        level: record::watch::AccessLevel::Full,
        subjects: vec![subject],
        ..WatchCoverage::default()
    }
}

/// A group with some always busy threads.
fn threads(name: &str, on_cpu: f64, full: f64, states: &[(ThreadWait, f64)]) -> ThreadGroup {
    let had = if full > 0.0 { on_cpu } else { 0.0 };
    let group = workers(on_cpu, 0.05, states);
    ThreadGroup {
        name: name.to_owned(),
        full: Some(BusyThreads { threads: full, on_cpu_ns: ns(had) }),
        ..group
    }
}

fn judged(about: WatchCoverage, well: Window, bad: Window) -> Diagnosis {
    judge(about, vec![load(600.0, 600.0, 0.4, 1, well), load(2000.0, 1000.0, 300.0, 900, bad)])
}

/// "A pool of 1 permits", because five of Node's seven threads wait for work that never comes; and for nginx "I do not know".
#[test]
fn it_is_named_and_given_more_processes_in_its_own_words() {
    // As observed: the waiting ones wait at any load.
    let node = |run: f64, full: f64| {
        let states = [(futex(None), 5.0), (ThreadWait::Events, 2.0 - run), (ThreadWait::Running, run)];
        second(vec![threads("node", run, full, &states)])
    };
    let lone = |name: &'static str| {
        move |run: f64, full: f64| {
            second(vec![threads(
                name,
                run,
                full,
                &[(ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)],
            )])
        }
    };
    let nginx = |run: f64, full: f64| {
        let master = ThreadWait::Other { what: "rt_sigsuspend".to_owned() };
        let states = [(master, 1.0), (ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)];
        second(vec![threads("nginx", run, full, &states)])
    };
    let at = |make: &dyn Fn(f64, f64) -> Window| (make(0.6, 0.0), make(0.99, 1.0));
    for (name, command, (well, bad), advice) in [
        ("node", "node server.js", at(&node), "node:cluster, or 2 processes"),
        (
            "python3.11",
            "/venv/bin/python3 /venv/bin/uvicorn asgi:app",
            at(&lone("uvicorn")),
            "uvicorn --workers 2",
        ),
        ("nginx", "nginx: master process nginx", at(&nginx), "worker_processes 2 in nginx.conf"),
        ("served", "/opt/served", at(&lone("served")), "2 processes of it"),
    ] {
        let diagnosis = judged(service(name, command, 2.0), well, bad);
        expect(&diagnosis, Cause::Cpu);
        let (said, next) = (&diagnosis.sentences[0], &diagnosis.next[0]);
        assert!(
            said.contains("one event loop") && said.contains("more processes, not more threads"),
            "{said}"
        );
        assert!(next.contains(advice), "{next}");
        let used = &diagnosis.findings[0].evidence[0];
        assert!(used.text.ends_with(": 1 event loop busy 99 % of the time"), "{used:?}");
        assert_eq!(used.well, Some(0.6));
        assert_eq!(diagnosis.findings[0].confidence.word(), "high", "{:#?}", diagnosis.findings[0]);
        assert!(
            diagnosis.findings.iter().all(|f| !matches!(f.cause, Cause::Pool | Cause::Lock)),
            "{diagnosis:#?}"
        );
    }
}

/// As Node was observed at 800/s, 20 looks a second: "running" in 19 of 20 looks, and on a processor for a quarter of the time.
#[test]
fn a_loop_that_was_always_looked_at_in_the_same_moment() {
    let at = |on: f64, full: f64, run: f64| {
        let states = [(futex(None), 5.0), (ThreadWait::Events, 2.0 - run), (ThreadWait::Running, run)];
        second(vec![threads("node", on, full, &states)])
    };
    let diagnosis = judged(service("node", "node server.js", 2.0), at(0.25, 0.0, 0.95), at(0.94, 1.0, 0.98));
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.sentences[0].contains("one event loop of node"), "{:?}", diagnosis.sentences);
}

/// Redis, started by the service, was advised to use node:cluster.
#[test]
fn a_loop_of_another_program_is_told_what_that_needs() {
    let redis = |run: f64, full: f64| {
        let states = [(ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)];
        second(vec![threads("redis-server", run, full, &states)])
    };
    let diagnosis = judged(service("node", "node server.js", 2.0), redis(0.6, 0.0), redis(0.99, 1.0));
    assert!(diagnosis.sentences[0].contains("one event loop of node (redis-server)"), "{diagnosis:#?}");
    assert!(diagnosis.next[0].contains("2 of it, as a cluster"), "{:?}", diagnosis.next);
}

/// Confined to one processor it has none to give to more processes.
#[test]
fn a_loop_with_one_processor_needs_both() {
    let run = |run: f64, full: f64| {
        second(vec![threads(
            "uvicorn",
            run,
            full,
            &[(ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)],
        )])
    };
    // Alone on it, and with another ready thread.
    for delay in [0.05, 1.1] {
        let mut bad = run(0.99, 1.0);
        bad.subjects[0].groups[0].run_delay_ns = ns(delay);
        let diagnosis = judged(service("python3.11", "uvicorn asgi:app", 1.0), run(0.6, 0.0), bad);
        expect(&diagnosis, Cause::Cpu);
        // The name is not repeated for a service whose threads bear it.
        assert!(!diagnosis.sentences[0].contains("uvicorn (uvicorn)"), "{:?}", diagnosis.sentences);
        let prediction = diagnosis.prediction.expect("there is one");
        let times = prediction.capacity.zip(prediction.from).map(|(gives, from)| gives.0 / from.0);
        assert_eq!(times, Some(2.0), "{prediction:?}");
        // Following the advice leaves no processor to make the load.
        let ends = "that is all 2 processors of this machine, so the load has to come from another one";
        assert!(prediction.then.starts_with(ends), "{prediction:?}");
        let next = diagnosis.next.join("; ");
        assert!(next.contains("add processors and processes together: uvicorn --workers 2"), "{next}");
    }
}

/// Next.js and npm's http-server: "twice the processors: 13,600/s" was expected of a loop that can use one, because V8's collector took a
/// fifth of that.
#[test]
fn a_loop_whose_collector_works_beside_it_is_still_one() {
    let node = |main: f64, full: f64, others: f64| {
        let server = threads(
            "http-server (vN",
            main,
            full,
            &[(ThreadWait::Events, 1.0 - full), (ThreadWait::Running, full)],
        );
        let mut collector = workers(others, 0.4, &[(futex(None), 3.0), (ThreadWait::Running, 1.0)]);
        collector.name = "node".to_owned();
        second(vec![server, collector])
    };
    let about = service("node", "node node_modules/.bin/http-server", 1.0);
    let diagnosis = judged(about, node(0.6, 0.0, 0.2), node(0.76, 1.0, 0.24));
    expect(&diagnosis, Cause::Cpu);
    let says =
        "one event loop of node (http-server), which always wants a processor and has one 76 % of the time";
    assert!(diagnosis.sentences[0].contains(says), "{:?}", diagnosis.sentences);
    assert!(
        diagnosis.next[0].starts_with("add processors and processes together: node:cluster"),
        "{:?}",
        diagnosis.next
    );
    let facts = diagnosis.findings[0].evidence.iter().map(|fact| fact.text.as_str());
    assert!(
        facts.clone().any(|fact| fact == "its other threads use 0.24 processors"),
        "{:?}",
        facts.collect::<Vec<_>>()
    );
}

/// Two uvicorn processes beside torment on two processors: each "keeps a processor busy all the time", of which it had 71 %, and
/// --workers 3 was advised.
#[test]
fn loops_that_torment_crowds_out_are_given_the_machine() {
    let uvicorn = |run: f64, full: f64| {
        let mut window = second(vec![threads(
            "pythonN",
            run,
            full,
            &[(ThreadWait::Events, 2.0 - run), (ThreadWait::Running, run)],
        )]);
        let host = window.host.as_mut().expect("it is there");
        (host.idle_ns, window.own.cpu_ns) = (0, ns(0.55));
        window
    };
    let about = || service("python3.11", "/usr/bin/python3 /usr/bin/uvicorn --workers 2 app:app", 2.0);
    let mut shared = uvicorn(1.42, 2.0);
    shared.host.as_mut().expect("it is there").neighbours_cpu_ns = ns(0.6);
    let diagnosis = judged(about(), uvicorn(1.28, 0.0), shared);
    assert!(!diagnosis.sentences[0].contains("torment"), "others use more: {:?}", diagnosis.sentences);
    let diagnosis = judged(about(), uvicorn(1.28, 0.0), uvicorn(1.42, 2.0));
    expect(&diagnosis, Cause::Cpu);
    let says = "each of which always wants a processor and has one 71 % of the time, while torment uses 0.55";
    assert!(diagnosis.sentences[0].contains(says), "{:?}", diagnosis.sentences);
    assert!(diagnosis.next[0].starts_with("give torment a machine of its own first"), "{:?}", diagnosis.next);
    assert_ne!(diagnosis.findings[0].confidence.word(), "low", "{:#?}", diagnosis.findings[0]);
}

/// Two nginx workers on four processors; one of two leaves room.
#[test]
fn several_loops_are_counted_and_one_that_rests_is_none() {
    let nginx = |run: f64, full: f64| {
        let mut window = second(vec![threads(
            "nginx",
            run,
            full,
            &[(ThreadWait::Events, 2.0 - run), (ThreadWait::Running, run)],
        )]);
        let host = window.host.as_mut().expect("it is there");
        (host.cpus, host.idle_ns) = (4, ns(4.0 - run));
        window
    };
    let about = || service("nginx", "nginx: master process nginx", 4.0);
    let both = judged(about(), nginx(1.0, 0.0), nginx(1.98, 2.0));
    expect(&both, Cause::Cpu);
    assert!(both.sentences[0].contains("2 event loops of nginx"), "{:?}", both.sentences);
    assert!(both.next[0].contains("worker_processes 4"), "{:?}", both.next);
    let rests = judged(about(), nginx(0.6, 0.0), nginx(1.2, 0.0));
    assert_ne!(rests.cause(), Some(Cause::Cpu), "each rests 40 % of its time: {rests:#?}");
}

/// "Others use 58 % of the processors in use" was reported for a loop that had its processor nearly all the time.
#[test]
fn neighbours_take_nothing_from_a_loop_that_has_its_processor() {
    let uvicorn = |run: f64, full: f64, delay: f64| {
        let mut group = threads("uvicorn", run, full, &[(ThreadWait::Running, 1.0)]);
        group.run_delay_ns = ns(delay);
        let mut window = second(vec![group]);
        let host = window.host.as_mut().expect("it is there");
        (host.idle_ns, host.neighbours_cpu_ns) = (0, ns(2.0 - run - 0.1));
        host.neighbours = vec![Neighbour { pid: 77, name: "rustc".to_owned(), cpu_ns: ns(1.0) }];
        window
    };
    let well = || {
        let states = [(ThreadWait::Events, 0.4), (ThreadWait::Running, 0.6)];
        second(vec![threads("uvicorn", 0.6, 0.0, &states)])
    };
    let about = || service("python3.11", "uvicorn asgi:app", 2.0);
    expect(&judged(about(), well(), uvicorn(0.93, 1.0, 0.06)), Cause::Cpu);
    // Of several threads of its name the always busy one is starved, though the accept queue is full as well.
    let states = [(futex(None), 5.0), (ThreadWait::Events, 1.0), (ThreadWait::Running, 1.0)];
    let mut node = uvicorn(0.34, 1.0, 0.7);
    node.subjects[0].groups[0] = ThreadGroup { run_delay_ns: ns(0.7), ..threads("node", 0.34, 1.0, &states) };
    node.subjects[0].listeners =
        vec![ListenSocket { address: "127.0.0.1:80".to_owned(), queued: 512, backlog: 511 }];
    let diagnosis = judged(service("node", "node server.js", 2.0), well(), node);
    expect(&diagnosis, Cause::Neighbour);
    // What it lacks is not reported as what it has.
    let shared = judged(about(), well(), uvicorn(0.81, 1.0, 0.19));
    expect(&shared, Cause::Cpu);
    let sentence = "always wants a processor and has one 81 % of the time";
    assert!(shared.sentences[0].contains(sentence), "{:?}", shared.sentences);
    // One that has it two thirds of the time lacks the rest.
    expect(&judged(about(), well(), uvicorn(0.65, 1.0, 0.34)), Cause::Neighbour);
}

/// A thread that did not wait for events when well is no event loop, and two that alternate on a processor are not one.
#[test]
fn what_is_no_loop_is_not_called_one() {
    let one = |run: f64, full: f64| {
        second(vec![threads("crunch", run, full, &[(futex(None), 1.0 - run), (ThreadWait::Running, run)])])
    };
    let diagnosis = judged(service("crunch", "./crunch", 2.0), one(0.6, 0.0), one(0.99, 1.0));
    expect(&diagnosis, Cause::Cpu);
    assert!(!diagnosis.sentences[0].contains("loop"), "{:?}", diagnosis.sentences);
    // Sixteen Python threads share one interpreter: none of them is always busy.
    let shared = |run: f64| {
        let states = [(futex(Some(1)), 15.0), (ThreadWait::Running, run), (ThreadWait::Events, 2.0 - run)];
        second(vec![threads("python3", run, 0.0, &states)])
    };
    let diagnosis = judged(service("python3.11", "python3 app.py", 2.0), shared(0.6), shared(0.99));
    expect(&diagnosis, Cause::Lock);
    assert!(diagnosis.sentences[0].contains("interpreter's lock"), "{:?}", diagnosis.sentences);
    assert!(diagnosis.next[0].contains("more processes"), "{:?}", diagnosis.next);
}

/// Near its limit aiohttp rests for moments that are not sampled, which made it an always running thread.
#[test]
fn a_loop_that_is_hardly_ever_seen_at_rest_is_one() {
    let aiohttp = |run: f64, full: f64, events: f64| {
        let states = [(futex(None), 1.0), (ThreadWait::Events, events), (ThreadWait::Running, 1.0 - events)];
        second(vec![threads("pythonN", run, full, &states)])
    };
    let about = || service("python3.11", "/usr/bin/python3 aio.py", 2.0);
    let diagnosis = judged(about(), aiohttp(0.82, 0.0, 0.06), aiohttp(0.998, 1.0, 0.0));
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.sentences[0].contains("one event loop of python3.11"), "{:?}", diagnosis.sentences);
    assert!(diagnosis.next[0].contains("more processes"), "{:?}", diagnosis.next);
}

/// Fastify's Node keeps a processor busy from half its limit on, and its collector's threads are seen now and then: it was reported as
/// one thread that is running all the time. And one that had it 90 % of the time was "busy all the time".
#[test]
fn what_is_known_to_be_a_loop_is_one_whatever_its_helpers_do() {
    let node = |helpers: f64, run: f64| {
        let states = [(futex(None), helpers), (ThreadWait::Running, 10.0 - helpers)];
        second(vec![threads("node", run, 1.0, &states)])
    };
    let diagnosis = judged(service("node", "node fastify.js", 2.0), node(8.4, 1.01), node(8.8, 0.96));
    expect(&diagnosis, Cause::Cpu);
    assert!(diagnosis.sentences[0].contains("one event loop of node"), "{:?}", diagnosis.sentences);
    let says = "which keeps one processor busy 96 % of the time: it needs more processes";
    assert!(diagnosis.sentences[0].contains(says), "{:?}", diagnosis.sentences);
    let evidence: Vec<&str> = diagnosis.findings[0].evidence.iter().map(|fact| fact.text.as_str()).collect();
    assert!(evidence.iter().all(|text| !text.contains("waiting for events")), "{evidence:?}");
}

/// A process that only supervises computes nothing: gunicorn's one worker with threads used half a processor "each", and nothing was
/// reported.
#[test]
fn a_master_is_no_interpreter() {
    let gunicorn = |run: f64, waiting: f64| {
        let states =
            [(futex(Some(1)), waiting), (ThreadWait::Running, 1.5), (ThreadWait::Events, 8.5 - waiting)];
        let mut window = second(vec![threads("gunicorn", run, 0.0, &states)]);
        window.subjects[0].processes = 2;
        window
    };
    let about = || service("python3.11", "python3 /usr/bin/gunicorn --threads 8 app:app", 2.0);
    let diagnosis = judged(about(), gunicorn(0.5, 0.2), gunicorn(1.02, 6.0));
    expect(&diagnosis, Cause::Lock);
    assert!(diagnosis.sentences[0].contains("Only one of"), "{:?}", diagnosis.sentences);
    let evidence = &diagnosis.findings[0].evidence;
    let computes = "1 of a processor used by each of its interpreters";
    assert!(evidence.iter().any(|fact| fact.text == computes), "{evidence:#?}");
    assert!(diagnosis.next[0].contains("gunicorn --workers 2"), "{:?}", diagnosis.next);
}

/// Puma's threads wait for Ruby's interpreter without a deadline; one computes, and another is in a system call or ready to compute. They
/// were reported to wait for one of two permits.
#[test]
fn threads_of_ruby_wait_for_its_interpreter() {
    let puma = |run: f64, ready: f64, states: &[(ThreadWait, f64)]| {
        let mut group = threads("puma srv tp N", run, 0.0, states);
        group.run_delay_ns = ns(ready);
        second(vec![group])
    };
    let well = puma(0.4, 0.1, &[(ThreadWait::Client, 4.3), (ThreadWait::Running, 0.7)]);
    let bad = puma(0.97, 0.9, &[(futex(None), 3.1), (ThreadWait::Running, 1.9)]);
    let about = || service("ruby3.1", "puma 5.6.5 (tcp://127.0.0.1:9103) [app]", 2.0);
    let diagnosis = judged(about(), well.clone(), bad);
    expect(&diagnosis, Cause::Lock);
    assert!(diagnosis.sentences[0].contains("the interpreter's lock"), "{:?}", diagnosis.sentences);
    assert!(diagnosis.next[0].contains("more processes instead of threads"), "{:?}", diagnosis.next);
    // If nobody computes they wait for something else.
    let pool = puma(0.1, 0.0, &[(futex(None), 3.1), (peer(), 1.9)]);
    expect(&judged(about(), well, pool), Cause::Pool);
}

/// etcd, confined to one processor: "one event loop … one process for each". Go has no event loop, and as many threads as processors.
#[test]
fn go_has_no_event_loop() {
    let window = |run: f64, full: f64| {
        let states = [(futex(None), 6.0), (ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)];
        second(vec![threads("etcd", run, full, &states)])
    };
    let told = |cpus: f64| {
        let mut about = service("etcd", "etcd", cpus);
        about.subjects[0].is_go = true;
        judged(about, window(0.19, 0.0), window(0.99, 1.0))
    };
    let held = told(1.0);
    expect(&held, Cause::Cpu);
    assert!(held.sentences[0].starts_with("etcd needs more processor time: it uses 0.99 of 1"), "{held:#?}");
    let limited = told(2.0);
    expect(&limited, Cause::Cpu);
    assert!(limited.sentences[0].starts_with("All requests pass through 1 thread of etcd"), "{limited:#?}");
    assert!(limited.next[0].contains("GOMAXPROCS"), "{:?}", limited.next);
}

/// RabbitMQ, confined to one processor: "one event loop … one process for each". Erlang schedules on as many threads as processors.
#[test]
fn erlang_has_no_event_loop() {
    for (name, schedulers) in
        [("beam.smp", "erts_sched_N"), ("beam.smp", "beam.smp"), ("rabbitmq-server", "N_scheduler")]
    {
        let window = |run: f64, full: f64| {
            let states = [(ThreadWait::Events, 1.0 - run), (ThreadWait::Running, run)];
            second(vec![threads(schedulers, run, full, &states)])
        };
        let told = judged(service(name, name, 1.0), window(0.6, 0.0), window(0.99, 1.0));
        expect(&told, Cause::Cpu);
        let says = format!("{name} needs more processor time: it uses 0.99 of 1");
        assert!(told.sentences[0].starts_with(&says), "{told:#?}");
        assert!(told.next.iter().any(|next| next.starts_with("more processors: capacity")), "{told:#?}");
    }
}
