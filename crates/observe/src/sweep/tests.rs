//! Tests with real threads of this process, each test finding its own by name.

use super::SweepSource;
use crate::source::Source;
use crate::watch_scope::{WatchScope, WatchedTree};
use record::watch::{FutexOp, ThreadGroup, ThreadSampling, ThreadWait, WatchedProcesses, Window};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// All tests watch this process: one at a time.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn scene(subjects: &[&[u32]]) -> WatchScope {
    let cast = |pids: &&[u32]| WatchedTree {
        about: WatchedProcesses { pid: pids[0], cpus: 2.0, ..WatchedProcesses::default() },
        pids: pids.to_vec(),
    };
    WatchScope { subjects: subjects.iter().map(cast).collect(), ..WatchScope::default() }
}

/// Sweeps for this long, from a clean start.
fn windows(scene: &WatchScope, length: Duration) -> Vec<(ThreadSampling, Vec<ThreadGroup>)> {
    let mut sweeps = SweepSource::start(scene).expect("there can be a thread");
    sweeps.read(scene);
    sweeps.begin();
    std::thread::sleep(Duration::from_millis(300));
    cut(&mut sweeps, scene);
    std::thread::sleep(length);
    cut(&mut sweeps, scene)
}

fn cut(sweeps: &mut SweepSource, scene: &WatchScope) -> Vec<(ThreadSampling, Vec<ThreadGroup>)> {
    let mut window = Window { subjects: vec![Default::default(); scene.subjects.len()], ..Window::default() };
    sweeps.cut(scene, &mut window);
    let parts = window.subjects.into_iter();
    parts.map(|part| (part.sweep.expect("there are threads"), part.groups)).collect()
}

/// Threads of this process, which end when this is dropped.
struct Threads {
    stop: Vec<Box<dyn FnOnce()>>,
    handles: Vec<JoinHandle<()>>,
}

impl Threads {
    fn start(name: &str, count: usize, work: impl Fn() + Send + Clone + 'static) -> Self {
        let handles = (0..count).map(|number| {
            let work = work.clone();
            let builder = std::thread::Builder::new().name(format!("{name}-{number}"));
            builder.stack_size(64 << 10).spawn(work).expect("there can be a thread")
        });
        Self { handles: handles.collect(), stop: Vec::new() }
    }

    fn stopped_by(mut self, stop: impl FnOnce() + 'static) -> Self {
        self.stop.push(Box::new(stop));
        self
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop.drain(..).for_each(|stop| stop());
        // After a failure some may wait for what is dropped later: joining them would hide what failed.
        if std::thread::panicking() {
            return;
        }
        for handle in self.handles.drain(..) {
            handle.join().expect("it does not panic");
        }
    }
}

fn group<'a>(groups: &'a [ThreadGroup], name: &str) -> &'a ThreadGroup {
    let found = groups.iter().find(|group| group.name == name);
    found
        .unwrap_or_else(|| panic!("no {name} among {:?}", groups.iter().map(|g| &g.name).collect::<Vec<_>>()))
}

/// Asserts that the group's threads wait so, nearly all of the time.
fn expect(groups: &[ThreadGroup], name: &str, threads: f64, wait: &ThreadWait) {
    let group = group(groups, name);
    let sum: f64 = group.states.iter().map(|state| state.threads).sum();
    assert!((sum - group.threads).abs() < 1e-6, "{group:?}");
    assert!((group.threads - threads).abs() < 0.01, "{group:?}");
    let there = group.states.iter().find(|state| state.wait == *wait).map_or(0.0, |state| state.threads);
    assert!(there > 0.9 * threads, "not {wait:?}: {group:?}");
}

fn futex(within_s: Option<u32>, shared: bool) -> ThreadWait {
    ThreadWait::Futex { op: FutexOp::WaitBitset, within_s, shared }
}

/// A waker, and the work of a thread that waits for it.
fn until_woken(
    wait: impl Fn(&Receiver<()>) + Send + Clone + 'static,
) -> (Sender<()>, impl Fn() + Send + Clone + 'static) {
    let (wake, asleep) = channel();
    let asleep = Arc::new(Mutex::new(asleep));
    (wake, move || wait(&asleep.lock().expect("nobody panics")))
}

#[test]
fn known_waits_of_own_threads() {
    let _alone = alone();
    let own = std::process::id();
    // Three threads at one lock, not counting its holder.
    let lock = Arc::new(Mutex::new(()));
    let held = Arc::new(Barrier::new(2));
    let (release, released) = channel::<()>();
    let holder = {
        let (lock, held) = (Arc::clone(&lock), Arc::clone(&held));
        std::thread::spawn(move || {
            let _guard = lock.lock().expect("nobody panics");
            held.wait();
            let _ = released.recv();
        })
    };
    held.wait();
    let wanting = {
        let lock = Arc::clone(&lock);
        Threads::start("zlock", 3, move || drop(lock.lock().expect("nobody panics")))
    };
    // One with a timeout of 30 s, and one without.
    let (wake, wait) = until_woken(|asleep| {
        let _ = asleep.recv_timeout(Duration::from_secs(30));
    });
    let timed = Threads::start("ztimed", 1, wait).stopped_by(move || drop(wake));
    let (wake, wait) = until_woken(|asleep| {
        let _ = asleep.recv();
    });
    let untimed = Threads::start("zuntimed", 1, wait).stopped_by(move || drop(wake));
    let events = Threads::start("zepoll", 1, || {
        let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC);
        let mut list = Vec::with_capacity(4);
        let time = Timespec { tv_sec: 4, tv_nsec: 0 };
        let _ = rustix::event::epoll::wait(
            epoll.expect("there is room"),
            rustix::buffer::spare_capacity(&mut list),
            Some(&time),
        );
    });
    // As a thread waits for another of its process.
    let own_event = Arc::new(rustix::event::eventfd(0, EventfdFlags::CLOEXEC).expect("there is room"));
    let polled = |time: Option<Timespec>| {
        let own_event = Arc::clone(&own_event);
        move || {
            let _ = rustix::event::poll(&mut [PollFd::new(&*own_event, PollFlags::IN)], time.as_ref());
        }
    };
    let until = polled(Some(Timespec { tv_sec: 4, tv_nsec: 0 }));
    let sleeping = Threads::start("zevent", 1, until);
    let waiting = Threads::start("zforever", 1, polled(None));
    let asleep = Threads::start("zsleep", 2, || std::thread::sleep(Duration::from_secs(4)));
    let (reader, writer) = std::io::pipe().expect("there is room");
    let piped = {
        let reader = Arc::new(reader);
        Threads::start("zpipe", 1, move || drop((&*reader).read(&mut [0; 1])))
            .stopped_by(move || drop(writer))
    };
    let windows = windows(&scene(&[&[own]]), Duration::from_millis(900));
    let (sweep, groups) = &windows[0];
    assert!(sweep.done > 0 && sweep.due >= sweep.done, "{sweep:?}");
    assert!((sweep.looked_at - sweep.threads).abs() < 0.05 * sweep.threads, "{sweep:?}");
    expect(groups, "zlock-N", 3.0, &futex(None, true));
    expect(groups, "ztimed-N", 1.0, &futex(Some(30), false));
    expect(groups, "zuntimed-N", 1.0, &futex(None, false));
    expect(groups, "zepoll-N", 1.0, &ThreadWait::Events);
    expect(groups, "zsleep-N", 2.0, &ThreadWait::Sleep);
    expect(groups, "zevent-N", 1.0, &ThreadWait::Events);
    expect(groups, "zforever-N", 1.0, &ThreadWait::Events);
    expect(groups, "zpipe-N", 1.0, &ThreadWait::Pipe);
    drop(release);
    holder.join().expect("it does not panic");
    rustix::io::write(&own_event, &1_u64.to_ne_bytes()).expect("there is room");
    drop((wanting, timed, untimed, events, asleep, piped, sleeping, waiting));
}

/// As Ruby's main thread sleeps; done here in a program of its own.
#[test]
fn a_main_thread_that_polls_its_own_event_sleeps() {
    let _alone = alone();
    for (deadline, wait) in [("20000", ThreadWait::Sleep), ("None", ThreadWait::Events)] {
        let program = format!(
            "import os, select; p = select.poll(); p.register(os.eventfd(0), 1); print(flush=True); p.poll({deadline})"
        );
        let mut python = Command::new("python3");
        let Ok(mut child) = python.args(["-c", &program]).stdout(Stdio::piped()).spawn() else {
            eprintln!("SKIPPED: there is no Python");
            return;
        };
        let is_ready = child.stdout.take().expect("it is piped").read_exact(&mut [0]);
        is_ready.expect("it says so");
        std::thread::sleep(Duration::from_millis(100));
        let windows = windows(&scene(&[&[child.id()]]), Duration::from_millis(600));
        child.kill().and_then(|()| child.wait()).expect("it is ours");
        let groups = &windows[0].1;
        assert!(groups.len() == 1 && groups[0].states.len() == 1, "{groups:?}");
        assert_eq!(groups[0].states[0].wait, wait, "{deadline}");
    }
}

#[test]
fn sockets_lead_to_peers_and_clients() {
    let _alone = alone();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let at = listener.local_addr().expect("it is bound");
    let made = Arc::new(TcpStream::connect(at).expect("it listens"));
    let (accepted, _) = listener.accept().expect("there is a connection");
    let accepted = Arc::new(accepted);
    let stop = |stream: &Arc<TcpStream>| {
        let stream = Arc::clone(stream);
        move || stream.shutdown(std::net::Shutdown::Both).unwrap_or_default()
    };
    let read = |stream: &Arc<TcpStream>| {
        let stream = Arc::clone(stream);
        move || drop((&*stream).read(&mut [0; 1]))
    };
    let poll = |stream: &Arc<TcpStream>| {
        let stream = Arc::clone(stream);
        move || {
            let mut list = [PollFd::new(&*stream, PollFlags::IN)];
            let time = Timespec { tv_sec: 20, tv_nsec: 0 };
            let _ = rustix::event::poll(&mut list, Some(&time));
        }
    };
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("s");
    let local = UnixListener::bind(&path).expect("the path is free");
    let local_made = Arc::new(UnixStream::connect(&path).expect("it listens"));
    let local_accepted = local.accept().expect("there is a connection").0;
    let listener = Arc::new(listener);
    let accepting = Threads::start("yaccept", 1, move || drop(listener.accept()));
    let threads = [
        Threads::start("ypeer", 1, read(&made)).stopped_by(stop(&made)),
        Threads::start("ypoll", 1, poll(&made)).stopped_by(stop(&made)),
        Threads::start("yclient", 1, read(&accepted)).stopped_by(stop(&accepted)),
        Threads::start("ycpoll", 1, poll(&accepted)).stopped_by(stop(&accepted)),
        Threads::start("ylocal", 1, move || drop((&*local_made).read(&mut [0; 1])))
            .stopped_by(move || drop(local_accepted)),
    ];
    let windows = windows(&scene(&[&[std::process::id()]]), Duration::from_millis(900));
    let groups = &windows[0].1;
    let peer = ThreadWait::Peer { address: at.to_string() };
    expect(groups, "ypeer-N", 1.0, &peer);
    expect(groups, "ypoll-N", 1.0, &peer);
    expect(groups, "yclient-N", 1.0, &ThreadWait::Client);
    expect(groups, "ycpoll-N", 1.0, &ThreadWait::Client);
    expect(groups, "yaccept-N", 1.0, &ThreadWait::Accept);
    expect(groups, "ylocal-N", 1.0, &ThreadWait::Peer { address: format!("unix {}", path.display()) });
    let _ = TcpStream::connect(at);
    drop((accepting, threads));
}

#[test]
fn processor_time_is_exact_and_short_lived_threads_are_missed_aloud() {
    let _alone = alone();
    let stop = Arc::new(AtomicBool::new(false));
    // Its own account: how long it ran, and the longest that it was kept from running, of which the kernel
    // tells only once it runs again.
    let (ran, kept) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let work = {
        let (stop, ran, kept) = (Arc::clone(&stop), Arc::clone(&ran), Arc::clone(&kept));
        move || {
            let mut last = Instant::now();
            while !stop.load(Relaxed) {
                let now = Instant::now();
                kept.fetch_max((now - last).as_nanos() as u64, Relaxed);
                ran.store(sys::thread_cpu_ns(), Relaxed);
                last = now;
            }
        }
    };
    let flag = Arc::clone(&stop);
    let busy = Threads::start("xbusy", 1, work).stopped_by(move || {
        flag.store(true, Relaxed);
    });
    let (flag, unseen) = (Arc::clone(&stop), Arc::new(AtomicU64::new(0)));
    let sum = Arc::clone(&unseen);
    let brief = Threads::start("xmother", 1, move || {
        while !flag.load(Relaxed) {
            let sum = Arc::clone(&sum);
            let child = std::thread::spawn(move || {
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(5) {
                    std::hint::spin_loop();
                }
                // One that was kept from running for long was seen.
                let is_brief = began.elapsed() < Duration::from_millis(10);
                sum.fetch_add(if is_brief { sys::thread_cpu_ns() } else { 0 }, Relaxed);
            });
            child.join().expect("it does not panic");
        }
    });
    let own = std::process::id();
    let scene = scene(&[&[own]]);
    let mut sweeps = SweepSource::start(&scene).expect("there can be a thread");
    sweeps.begin();
    let cut = |sweeps: &mut SweepSource| {
        let (before, windows) = (ran.load(Relaxed), cut(sweeps, &scene));
        (before, windows, ran.load(Relaxed))
    };
    let first = cut(&mut sweeps);
    let (began, unseen_before) = (Instant::now(), unseen.load(Relaxed));
    std::thread::sleep(Duration::from_millis(900));
    let brief_ran = unseen.load(Relaxed) - unseen_before;
    let (before, windows, after) = cut(&mut sweeps);
    let took = began.elapsed().as_nanos() as u64;
    // It has completed a whole round, so knows what kept it.
    for _ in 0..2 {
        let before = ran.load(Relaxed);
        while ran.load(Relaxed) == before {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (sweep, groups) = &windows[0];
    let group = group(groups, "xbusy-N");
    let (least, most) = (before - first.2, after - first.0);
    let slack = took / 50;
    assert!(
        (least.saturating_sub(slack)..most + slack).contains(&group.on_cpu_ns),
        "{least}..{most}: {group:?}"
    );
    // All of its time is accounted for, on a processor or waiting for one.
    let (sum, slack) = (group.on_cpu_ns + group.run_delay_ns, slack + kept.load(Relaxed));
    assert!(
        (took.saturating_sub(slack)..took + slack).contains(&sum),
        "{sum} of {took}, but for {slack}: {group:?}"
    );
    assert!(group.states[0].wait == ThreadWait::Running && group.states[0].threads > 0.9, "{group:?}");
    // A few may have been seen all the same; on a busy machine there are only a few.
    assert!(sweep.unseen_cpu_ns >= brief_ran.saturating_sub(100_000_000) / 5, "{brief_ran}: {sweep:?}");
    drop((busy, brief));
}

struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sleeper(seconds: &str) -> KillOnDrop {
    let child = Command::new("sleep").arg(seconds).stdout(Stdio::null()).spawn();
    KillOnDrop(child.expect("there is a sleep everywhere"))
}

#[test]
fn a_process_that_ends_and_one_that_comes() {
    let _alone = alone();
    let (first, second) = (sleeper("60"), sleeper("60"));
    let mut both = scene(&[&[first.0.id(), second.0.id()]]);
    let mut sweeps = SweepSource::start(&both).expect("there can be a thread");
    sweeps.begin();
    cut(&mut sweeps, &both);
    std::thread::sleep(Duration::from_millis(600));
    expect(&cut(&mut sweeps, &both)[0].1, "sleep", 2.0, &ThreadWait::Sleep);
    let gone = first.0.id();
    drop(first);
    std::thread::sleep(Duration::from_millis(500));
    cut(&mut sweeps, &both);
    std::thread::sleep(Duration::from_millis(500));
    expect(&cut(&mut sweeps, &both)[0].1, "sleep", 1.0, &ThreadWait::Sleep);
    both.subjects[0].pids.retain(|pid| *pid != gone);
    let third = sleeper("60");
    both.subjects[0].pids.push(third.0.id());
    sweeps.read(&both);
    cut(&mut sweeps, &both);
    std::thread::sleep(Duration::from_millis(500));
    expect(&cut(&mut sweeps, &both)[0].1, "sleep", 2.0, &ThreadWait::Sleep);
    // All end, one after the other.
    drop((second, third));
    std::thread::sleep(Duration::from_millis(500));
    cut(&mut sweeps, &both);
    std::thread::sleep(Duration::from_millis(300));
    let (sweep, groups) = &cut(&mut sweeps, &both)[0];
    assert!(sweep.threads == 0.0 && groups.is_empty(), "{sweep:?} {groups:?}");
}

#[test]
fn too_many_threads_are_looked_at_in_turn() {
    let _alone = alone();
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let work = {
        let gate = Arc::clone(&gate);
        move || {
            let mut is_open = gate.0.lock().expect("nobody panics");
            while !*is_open {
                is_open = gate.1.wait(is_open).expect("nobody panics");
            }
        }
    };
    let crowd = Threads::start("wmany", 4_000, work).stopped_by(move || {
        *gate.0.lock().expect("nobody panics") = true;
        gate.1.notify_all();
    });
    let mut scene = scene(&[&[std::process::id()]]);
    scene.subjects[0].about.cpus = 1.0;
    let windows = windows(&scene, Duration::from_millis(1_500));
    let (sweep, groups) = &windows[0];
    assert!(sweep.threads >= 4_000.0 && sweep.looked_at < 2_000.0 && sweep.done > 0, "{sweep:?}");
    expect(groups, "wmany-N", 4_000.0, &futex(None, true));
    drop(crowd);
}

#[test]
fn another_users_process_is_seen_but_not_what_it_waits_for() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root can become somebody else");
    }
    // The test binary itself, as nobody, watches a process of root's.
    let of_root = sleeper("60");
    let own = std::env::current_exe().expect("it runs");
    let copy = tempfile::tempdir().expect("there is room");
    let path = copy.path().join("observe-as-nobody");
    std::fs::copy(own, &path).expect("there is room");
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(copy.path(), everyone).expect("it is our own");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"])
        .arg(path)
        .args(["--exact", "sweep::tests::as_nobody", "--ignored", "--nocapture"])
        .env("OBSERVED", of_root.0.id().to_string())
        .output();
    let Ok(output) = output else { return eprintln!("skipped: no setpriv here") };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by another test, as another user"]
fn as_nobody() {
    let pid: u32 = std::env::var("OBSERVED").expect("it was given").parse().expect("it is a number");
    let asked = plan::WatchPlan { pids: vec![pid], ..plan::WatchPlan::default() };
    let finder = crate::finder::Finder::new(&asked, &crate::TargetLocation::Unknown);
    let scene = finder.scope();
    assert_eq!(scene.level, record::watch::AccessLevel::SameUser);
    assert!(
        scene.missing.iter().any(|missing| missing.why.contains("belongs to user 0")),
        "{:?}",
        scene.missing
    );
    let sweeps = SweepSource::start(scene).expect("there can be a thread");
    assert!(sweeps.missing().iter().any(|missing| missing.what == "threads at full load"));
    let windows = windows(scene, Duration::from_millis(600));
    let (sweep, groups) = &windows[0];
    assert_eq!(sweep.readable, 0.0, "{sweep:?}");
    expect(groups, "sleep", 1.0, &ThreadWait::Unknown);
}

/// Ten permits among many threads, each kept for 10 ms: a thread that does not wait for one has one, and
/// there are always ten. A sweep that looks at the holders later than at the others sees fewer.
#[test]
fn permits_on_their_way_from_one_to_the_next_are_not_lost() {
    const PERMITS: usize = 10;
    let _alone = alone();
    let (free, given) = (Arc::new(Mutex::new((PERMITS, false))), Arc::new(Condvar::new()));
    let work = {
        let (free, given) = (Arc::clone(&free), Arc::clone(&given));
        move || {
            let mut state = free.lock().expect("nobody panics");
            while !state.1 {
                if state.0 == 0 {
                    state = given.wait_timeout(state, Duration::from_secs(30)).expect("nobody panics").0;
                    continue;
                }
                state.0 -= 1;
                drop(state);
                std::thread::sleep(Duration::from_millis(10));
                state = free.lock().expect("nobody panics");
                state.0 += 1;
                given.notify_one();
                if state.1 {
                    return;
                }
                // A thread that takes it again at once would leave the others nothing.
                state = given.wait_timeout(state, Duration::from_secs(30)).expect("nobody panics").0;
            }
        }
    };
    let stop = move || {
        free.lock().expect("nobody panics").1 = true;
        given.notify_all();
    };
    let threads = Threads::start("zpermit", 200, work).stopped_by(stop);
    let waiting = |wait: &ThreadWait| matches!(wait, ThreadWait::Futex { .. });
    let seen = || {
        let parts = windows(&scene(&[&[std::process::id()]]), Duration::from_secs(3));
        let group = group(&parts[0].1, "zpermit-N");
        let waits: f64 = group.states.iter().filter(|s| waiting(&s.wait)).map(|s| s.threads).sum();
        println!("{} of {PERMITS}: {group:?}", group.threads - waits);
        group.threads - waits
    };
    // Where others take the processors, handing over a permit takes a while.
    let most = (0..4).map(|_| seen()).find(|holding| *holding >= 0.94 * PERMITS as f64);
    drop(threads);
    assert!(most.is_some(), "see above");
}
