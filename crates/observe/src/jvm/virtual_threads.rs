//! Parses the state of virtual threads' scheduler and pollers.

use record::watch::VirtualThreads;

/// Parses the output of `Thread.vthread_scheduler` and `Thread.vthread_pollers` (JDK 24 and later). None if
/// the first is in an unknown format.
pub(crate) fn parse_scheduler(pid: u32, scheduler: &str, pollers: &str) -> Option<VirtualThreads> {
    let inside = scheduler.split_once('[')?.1.split_once(']')?.0;
    let number = |name: &str| {
        let value = inside.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(" = "))?;
        value.trim().parse::<u64>().ok()
    };
    let small = |name| number(name).and_then(|n| u32::try_from(n).ok());
    Some(VirtualThreads {
        pid,
        parallelism: small("parallelism")?,
        mounted: small("active").unwrap_or(0),
        // Those queued by carrier threads, and by others.
        queued: number("tasks").unwrap_or(0).saturating_add(number("submissions").unwrap_or(0)),
        delayed: number("delayed").unwrap_or(0),
        reading: parse_pollers(pollers),
    })
}

/// Sockets registered for reading.
fn parse_pollers(pollers: &str) -> u64 {
    let read = pollers.lines().skip_while(|line| !line.starts_with("Read")).skip(1);
    let registered = |line: &str| {
        let rest = line.split_once("registered = ")?.1;
        rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse::<u64>().ok()
    };
    read.take_while(|line| line.starts_with('[')).filter_map(registered).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Found by the fuzzer `dump`: numbers whose sum overflows.
    #[test]
    fn sums_have_an_end() {
        let most = u64::MAX;
        let said = format!("x[parallelism = 1, tasks = {most}, submissions = 1]");
        let line = format!("[0] x [registered = {most}, x]\n");
        let all = parse_scheduler(1, &said, &format!("Read\n{line}{line}")).expect("it is of that kind");
        assert_eq!((all.queued, all.reading), (most, most));
    }

    const POLLERS: &str = "Master I/O poller:\nsun.nio.ch.EPollPoller@3f54a6bb [registered = 1, owner = \
        Thread[#182,MasterPoller,5,InnocuousThreadGroup]]\n\nRead I/O pollers:\n[0] sun.nio.ch.EPollPoller@519df2eb \
        [registered = 4, owner = VirtualThread[#183,SubPoller-0]/waiting]\n[1] sun.nio.ch.EPollPoller@1a79c07a \
        [registered = 6, owner = VirtualThread[#184,SubPoller-1]/waiting]\n\nWrite I/O pollers:\n[0] \
        sun.nio.ch.EPollPoller@742d635f [registered = 3, owner = VirtualThread[#185,SubPoller-2]/waiting]\n";

    #[test]
    fn reads_scheduler_and_pollers() {
        let text = "java.util.concurrent.ForkJoinPool@3b6b350e[Running, parallelism = 2, size = 2, active = 2, \
                    running = 0, steals = 20231, tasks = 1, submissions = 35, delayed = 255]\n";
        let expected =
            VirtualThreads { pid: 7, parallelism: 2, mounted: 2, queued: 36, delayed: 255, reading: 10 };
        assert_eq!(parse_scheduler(7, text, POLLERS), Some(expected));
        assert_eq!(
            parse_scheduler(7, "java.lang.IllegalArgumentException: Unknown diagnostic command", ""),
            None
        );
    }

    proptest! {
        #[test]
        fn never_panics(text in "(Read|\\[|registered = |[0-9]{1,30}|parallelism = |, |\\]|\n|.){0,40}") {
            let _ = parse_scheduler(1, &text, &text);
        }
    }
}
