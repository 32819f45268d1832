//! Parses a JVM's thread dump (the command `threaddump`), of any version.

use super::frames::{Stack, StackCounts};

#[derive(Debug, Default)]
pub(crate) struct ThreadDump {
    pub stacks: StackCounts,
    /// There are or were virtual threads, which the dump does not list.
    pub has_virtual_threads: bool,
}

/// Parses a dump. Unknown lines are skipped: each version adds some.
pub(crate) fn parse(text: &str) -> ThreadDump {
    let mut dump = ThreadDump::default();
    let mut current: Option<Stack> = None;
    for line in text.lines() {
        if let Some(name) = name(line) {
            dump.take(current.take());
            current = Some(Stack { name, ..Stack::default() });
        } else if line.trim().is_empty() {
            dump.take(current.take());
        } else if let Some(stack) = &mut current {
            read_line(line.trim(), stack);
        }
    }
    dump.take(current);
    dump
}

impl ThreadDump {
    fn take(&mut self, stack: Option<Stack>) {
        let Some(stack) = stack else { return };
        // Started with the first virtual thread, under one of these names in all versions.
        self.has_virtual_threads |=
            ["VirtualThread-unblocker", "VirtualThread-unparker"].contains(&stack.name);
        self.stacks.add(&stack);
    }
}

/// The name in the first line of a thread, which alone has the native thread's address; the deadlock list
/// at the end does not.
fn name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('"')?;
    if !rest.contains(" tid=0x") {
        return None;
    }
    let end = rest.rfind("\" #").or_else(|| rest.rfind("\" "))?;
    Some(&rest[..end])
}

fn read_line<'a>(line: &'a str, stack: &mut Stack<'a>) {
    if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
        stack.state = state.split_whitespace().next().unwrap_or_default();
    } else if let Some(frame) = line.strip_prefix("at ") {
        stack.frames.push(frame);
    } else if ["- waiting to lock", "- waiting to re-lock", "- parking to wait for"]
        .iter()
        .any(|w| line.starts_with(w))
        && stack.blocker.is_none()
    {
        stack.blocker = line.rsplit_once("(a ").map(|(_, class)| class.trim_end_matches(')'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use record::watch::StackGroup;

    fn places(text: &str) -> Vec<StackGroup> {
        parse(text).stacks.list()
    }

    /// Checks the threads at a place in a dump recorded from a server all of whose requests ran into the
    /// same place.
    fn check(text: &str, state: &str, frame: &str, asker: &str, place: &str, least: u32) {
        let places = places(text);
        let workers = places.iter().filter(|at| at.group == "http-nio-N.N.N.N-auto-N-exec-N");
        let found = workers.clone().find(|at| at.state == state && at.frame == frame);
        let found =
            found.unwrap_or_else(|| panic!("{frame} is not there: {:#?}", workers.collect::<Vec<_>>()));
        assert!(found.threads >= least, "{found:?}");
        let asked_by = found.asked_by.as_ref().expect("the application asked");
        assert_eq!((asked_by.method.as_str(), asked_by.place.as_deref()), (asker, Some(place)));
    }

    const SQL: [&str; 2] = ["faults.Faults.sql", "Faults.java:103"];
    const GET: &str = "com.zaxxer.hikari.pool.HikariPool.getConnection";
    const READ: &str = "org.postgresql.core.VisibleBufferedInputStream.readMore on a socket";
    const LOCK: &str = "faults.Faults.inLock on java.util.concurrent.locks.ReentrantLock";
    const MONITOR: &str = "faults.Faults.inSynchronizedBlock on java.lang.Object";

    #[test]
    fn jdk_17() {
        let pool = include_str!("fixtures/17-pool.txt");
        check(pool, "TIMED_WAITING", GET, SQL[0], SQL[1], 4);
        check(pool, "RUNNABLE", READ, SQL[0], "Faults.java:104", 2);
        let lock = include_str!("fixtures/17-lock.txt");
        check(lock, "WAITING", LOCK, "faults.Faults.inLock", "Faults.java:137", 4);
        let monitor = include_str!("fixtures/17-monitor.txt");
        check(monitor, "BLOCKED", MONITOR, "faults.Faults.inSynchronizedBlock", "Faults.java:131", 4);
        assert!(!parse(pool).has_virtual_threads);
    }

    /// Places that differed only in the caller came in any order, and with more places than are kept, any
    /// of them was dropped.
    #[test]
    fn a_dump_is_read_in_one_way() {
        let thread = |n: u32| {
            format!(
                "\"a\" #1 tid=0x1 x\n   at java.lang.Object.wait(x)\n   at java.util.X.y(x)\n   at app.A{n}.b(A.java:1)\n\n"
            )
        };
        let text: String = (0..100).map(thread).collect();
        assert_eq!(places(&text), places(&text));
    }

    #[test]
    fn jdk_25() {
        let pool = include_str!("fixtures/25-pool.txt");
        check(pool, "TIMED_WAITING", GET, SQL[0], SQL[1], 4);
        check(pool, "RUNNABLE", READ, SQL[0], "Faults.java:104", 2);
        let lock = include_str!("fixtures/25-lock.txt");
        check(lock, "WAITING", LOCK, "faults.Faults.inLock", "Faults.java:137", 4);
        let monitor = include_str!("fixtures/25-monitor.txt");
        check(monitor, "BLOCKED", MONITOR, "faults.Faults.inSynchronizedBlock", "Faults.java:131", 4);
        assert!(!parse(pool).has_virtual_threads);
    }

    #[test]
    fn idle_workers_stand_in_the_queue_of_their_pool() {
        let idle = places(include_str!("fixtures/17-idle.txt"));
        let workers = idle.iter().find(|at| at.group.ends_with("exec-N")).expect("Tomcat keeps ten");
        assert!(workers.frame.starts_with("org.apache.tomcat.util.threads.TaskQueue."), "{workers:?}");
        assert_eq!(workers.asked_by, None);
    }

    #[test]
    fn a_dump_shows_that_there_are_virtual_threads_and_not_which() {
        let dump = parse(include_str!("fixtures/25-virtual.txt"));
        assert!(dump.has_virtual_threads);
        assert!(
            dump.stacks
                .list()
                .iter()
                .all(|at| !at.frame.starts_with("com.zaxxer.hikari.pool.HikariPool.get"))
        );
    }

    #[test]
    fn a_deadlock_is_not_counted_twice() {
        let text = "\"T-1\" #9 prio=5 tid=0x1 nid=0x1 waiting for monitor entry\n   java.lang.Thread.State: BLOCKED (on \
                    object monitor)\n\tat shop.A.one(A.java:1)\n\t- waiting to lock <0x1> (a shop.A)\n\n\
                    Found one Java-level deadlock:\n\"T-1\":\n  waiting to lock monitor\n\n\"T-1\":\n\tat shop.A.one(A.java:1)\n";
        let places = places(text);
        assert_eq!(places.len(), 1);
        assert_eq!((places[0].threads, places[0].frame.as_str()), (1, "shop.A.one on shop.A"));
    }

    #[test]
    fn names_with_quotes_are_read() {
        assert_eq!(name("\"say \"hi\" #3\" #9 prio=5 tid=0x1"), Some("say \"hi\" #3"));
        assert_eq!(name("\"GC Thread#0\" os_prio=0 cpu=1ms tid=0x1"), Some("GC Thread#0"));
        assert_eq!(name("\"T-1\":"), None);
    }

    proptest! {
        #[test]
        fn never_panics(lines in proptest::collection::vec(
            "(\"?[a-z\" #()/$.]{0,20}( tid=0x1)?|\tat [a-z$/0x.()@:]{0,30}|\t- waiting to lock \\(?a?.{0,9}|.{0,20})", 0..30,
        )) {
            let _ = places(&lines.join("\n"));
        }
    }
}
