//! Condenses a stack to one line: where its thread stands, and which line of the application led there.

use procfs::thread_group;
use record::watch::{ApplicationFrame, StackGroup};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Frames of waiting itself: queues, locks, sockets and pools. They say how a thread waits; their callers
/// say for what.
pub(crate) const WAITING: [&str; 33] = units::texts![
    "jdk.internal.misc.Unsafe.park" "sun.misc.Unsafe.park" "java.lang.Object.wait"
    "java.lang.VirtualThread." "java.lang.System$" "jdk.internal.vm.Continuation"
    "java.util.concurrent.locks." "java.util.concurrent.SynchronousQueue"
    "java.util.concurrent.LinkedBlockingQueue" "java.util.concurrent.LinkedBlockingDeque"
    "java.util.concurrent.LinkedTransferQueue" "java.util.concurrent.ArrayBlockingQueue"
    "java.util.concurrent.PriorityBlockingQueue" "java.util.concurrent.DelayQueue"
    "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue"
    "java.util.concurrent.ForkJoinPool.managedBlock" "java.util.concurrent.ForkJoinPool.unmanagedBlock"
    "java.util.concurrent.ForkJoinPool.compensatedBlock" "java.util.concurrent.CompletableFuture$Signaller"
    "java.util.concurrent.CompletableFuture.waitingGet" "java.util.concurrent.CompletableFuture.timedGet"
    "java.util.concurrent.FutureTask.awaitDone" "com.zaxxer.hikari.util." "sun.nio.ch.Net."
    "sun.nio.ch.NioSocketImpl" "sun.nio.ch.Poller" "sun.nio.ch.EPoll" "sun.nio.ch.Selector"
    "sun.nio.ch.Socket" "sun.nio.ch.IOUtil" "java.net.Socket$" "java.net.SocketInputStream"
    "java.net.PlainSocketImpl"
];

/// Streams above a socket; skipped only there.
const STREAMS: [&str; 3] = ["java.io.", "sun.security.ssl.", "java.net.SocketOutputStream"];

/// Frames of socket reads and writes.
const SOCKETS: [&str; 4] = [
    "sun.nio.ch.NioSocketImpl",
    "sun.nio.ch.SocketChannelImpl",
    "java.net.Socket$",
    "java.net.SocketInputStream",
];

/// Not the application: Java itself, servers, frameworks, drivers.
pub(crate) const LIBRARIES: [&str; 36] = units::texts![
    "java." "javax." "jakarta." "jdk." "sun." "com.sun." "kotlin." "kotlinx." "scala." "groovy." "clojure."
    "org.apache." "org.springframework." "org.hibernate." "org.eclipse.jetty." "org.jboss." "org.wildfly."
    "org.postgresql." "org.mariadb." "com.mysql." "com.microsoft.sqlserver." "com.mongodb." "redis.clients."
    "oracle." "com.zaxxer." "com.fasterxml." "com.google." "io.netty." "io.undertow." "io.vertx."
    "io.quarkus." "io.micronaut." "io.grpc." "io.lettuce." "okhttp3." "reactor."
];

/// Maximum places in a closer look.
const MAX_PLACES: usize = 64;

/// A thread of a dump.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stack<'a> {
    pub name: &'a str,
    pub state: &'a str,
    /// As written, innermost first: `java.lang.Thread.run(java.base@17.0.15/Thread.java:840)`.
    pub frames: Vec<&'a str>,
    /// Class of the monitor that it is blocked on, or of what it is parked for.
    pub blocker: Option<&'a str>,
}

struct Frame {
    /// Class and method.
    method: String,
    source_line: Option<String>,
}

impl Frame {
    fn of(written: &str) -> Self {
        let (method, place) = written.split_once('(').unwrap_or((written, ""));
        let place = place.trim_end_matches(')');
        let place = place.rsplit_once('/').map_or(place, |(_, place)| place);
        let known = place.contains('.');
        Self { method: strip_address(method), source_line: known.then(|| place.to_owned()) }
    }

    fn begins_with_one_of(&self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.method.starts_with(prefix))
    }

    /// Classes generated at run time (lambdas, proxies) stand for no source line.
    fn is_of_the_application(&self) -> bool {
        let generated = self.method.contains("$$") || self.method.contains("$Proxy");
        !generated && !self.begins_with_one_of(&LIBRARIES)
    }
}

/// Class and method without class loader and module, and without the address and number of a class
/// generated at run time: `java.base/java.lang.Thread.run`, `app.A$$Lambda$85/0x00007faad40a2eb0.handle`.
pub(crate) fn strip_address(method: &str) -> String {
    let (before, after) = match method.find("/0x") {
        Some(at) => {
            let address = &method[at + 3..];
            let end = address.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(address.len());
            (&method[..at], &address[end..])
        }
        None => (method, ""),
    };
    let before = before.rsplit_once('/').map_or(before, |(_, name)| name);
    let before = match before.find("$$Lambda") {
        Some(at) => &before[..at + "$$Lambda".len()],
        None => before,
    };
    // A lambda without an address has its method after the number.
    let after = if after.is_empty() && before.ends_with("$$Lambda") { ".run" } else { after };
    format!("{before}{after}")
}

/// What threads must share to be counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StackKey {
    pub group: String,
    pub frame: String,
    pub state: String,
    pub asked_by: Option<ApplicationFrame>,
}

/// Threads counted by place.
#[derive(Debug, Default)]
pub(crate) struct StackCounts(BTreeMap<StackKey, u32>);

impl StackCounts {
    /// Counts a thread, unless it has no frames, such as a compiler's.
    pub fn add(&mut self, stack: &Stack) {
        let frames: Vec<Frame> = stack.frames.iter().map(|frame| Frame::of(frame)).collect();
        let Some(frame) = waiting_frame(&frames, stack) else { return };
        let asked_by = frames.into_iter().find(Frame::is_of_the_application);
        let asked_by =
            asked_by.map(|frame| ApplicationFrame { method: frame.method, place: frame.source_line });
        let (group, state) = (thread_group(stack.name), stack.state.to_owned());
        self.count(StackKey { group, frame, state, asked_by }, 1);
    }

    /// Counts this many threads.
    pub fn count(&mut self, place: StackKey, threads: u32) {
        *self.0.entry(place).or_default() += threads;
    }

    /// The places, most threads first.
    pub fn list(self) -> Vec<StackGroup> {
        let places = self.0.into_iter().map(|(StackKey { group, frame, state, asked_by }, threads)| {
            StackGroup { group, state, frame, asked_by, threads }
        });
        let mut places: Vec<StackGroup> = places.collect();
        places.sort_by_key(|place| Reverse(place.threads));
        places.truncate(MAX_PLACES);
        places
    }
}

/// The first frame that is not waiting itself, and the lock or socket that it waits for:
/// `faults.Faults.inLock on java.util.concurrent.locks.ReentrantLock`.
fn waiting_frame(frames: &[Frame], stack: &Stack) -> Option<String> {
    let top = frames.first()?;
    if let Some(sleep) = frames.iter().take(4).find(|f| f.method.starts_with("java.lang.Thread.sleep")) {
        // Its inner methods differ by version.
        return Some(sleep.method[.."java.lang.Thread.sleep".len()].to_owned());
    }
    let mut on_socket = false;
    let mut first = None;
    for frame in frames {
        on_socket |= frame.begins_with_one_of(&SOCKETS);
        let skipped = frame.begins_with_one_of(&WAITING) || on_socket && frame.begins_with_one_of(&STREAMS);
        if !skipped {
            first = Some(frame);
            break;
        }
    }
    let method = &first.unwrap_or(top).method;
    Some(match lock(stack) {
        Some(class) => format!("{method} on {class}"),
        None if on_socket => format!("{method} on a socket"),
        None => method.clone(),
    })
}

/// The class of the lock that a thread waits for: a monitor's, or one of java.util.concurrent.locks. A wait
/// for a condition, queue or semaphore is no lock wait.
fn lock<'a>(stack: &Stack<'a>) -> Option<&'a str> {
    let class = stack.blocker?;
    if stack.state == "BLOCKED" {
        return Some(class);
    }
    let outer = class.split('$').next().unwrap_or(class);
    let is_lock = class.starts_with("java.util.concurrent.locks.")
        && !class.ends_with("$ConditionObject")
        && !class.ends_with("$ConditionNode");
    is_lock.then_some(outer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_classes_without_what_differs_from_run_to_run() {
        let cases = [
            (
                "java.lang.Thread.run(java.base@17.0.15/Thread.java:840)",
                "java.lang.Thread.run",
                Some("Thread.java:840"),
            ),
            (
                "java.base/java.lang.Thread.run(Thread.java:840)",
                "java.lang.Thread.run",
                Some("Thread.java:840"),
            ),
            ("app//shop.Cart.add(Cart.java:7)", "shop.Cart.add", Some("Cart.java:7")),
            (
                "faults.A$$Lambda$85/0x00007faad40a2eb0.handle(Unknown Source)",
                "faults.A$$Lambda.handle",
                None,
            ),
            ("faults.A$$Lambda/0x000000005f0a4a70.handle(Unknown Source)", "faults.A$$Lambda.handle", None),
            ("sun.nio.ch.Net.poll(java.base@17.0.15/Native Method)", "sun.nio.ch.Net.poll", None),
            ("odd", "odd", None),
            ("", "", None),
        ];
        for (written, method, place) in cases {
            let frame = Frame::of(written);
            assert_eq!((frame.method.as_str(), frame.source_line.as_deref()), (method, place), "{written}");
        }
    }

    #[test]
    fn asks_for_what_a_thread_waits() {
        let check =
            |state: &str, blocker: Option<&str>, frames: &[&str], frame: &str, asker: Option<&str>| {
                let mut places = StackCounts::default();
                places.add(&Stack { name: "t-1", state, frames: frames.to_vec(), blocker });
                let at = places.list().remove(0);
                assert_eq!(at.frame, frame);
                assert_eq!(at.asked_by.map(|a| a.method).as_deref(), asker);
            };
        let park = "jdk.internal.misc.Unsafe.park(java.base@17/Native Method)";
        let locks = "java.util.concurrent.locks.LockSupport.park(java.base@17/LockSupport.java:1)";
        check(
            "WAITING",
            Some("java.util.concurrent.Semaphore$NonfairSync"),
            &[park, locks, "java.util.concurrent.Semaphore.acquire(S.java:1)", "shop.Cart.add(Cart.java:7)"],
            "java.util.concurrent.Semaphore.acquire",
            Some("shop.Cart.add"),
        );
        check(
            "WAITING",
            Some("java.util.concurrent.locks.ReentrantReadWriteLock$FairSync"),
            &[park, locks, "shop.Stock.read(Stock.java:7)"],
            "shop.Stock.read on java.util.concurrent.locks.ReentrantReadWriteLock",
            Some("shop.Stock.read"),
        );
        check(
            "WAITING",
            Some("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"),
            &[
                park,
                locks,
                "java.util.concurrent.LinkedBlockingQueue.take(L.java:1)",
                "java.util.concurrent.ThreadPoolExecutor.getTask(T.java:1)",
            ],
            "java.util.concurrent.ThreadPoolExecutor.getTask",
            None,
        );
        check(
            "RUNNABLE",
            None,
            &[
                "sun.nio.ch.SocketDispatcher.read0(Native Method)",
                "sun.nio.ch.NioSocketImpl.read(N.java:1)",
                "java.net.Socket$SocketInputStream.read(S.java:1)",
                "java.io.BufferedInputStream.fill(B.java:1)",
                "shop.Client.get(Client.java:1)",
            ],
            "shop.Client.get on a socket",
            Some("shop.Client.get"),
        );
        check(
            "RUNNABLE",
            None,
            &["java.io.FileOutputStream.writeBytes(F.java)"],
            "java.io.FileOutputStream.writeBytes",
            None,
        );
        check("WAITING", None, &[park], "jdk.internal.misc.Unsafe.park", None);
    }

    #[test]
    fn a_thread_without_frames_stands_nowhere() {
        let mut places = StackCounts::default();
        places.add(&Stack { name: "C2 CompilerThread0", state: "RUNNABLE", ..Stack::default() });
        assert!(places.list().is_empty());
    }
}
