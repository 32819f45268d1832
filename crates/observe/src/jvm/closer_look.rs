use super::attach::{AttachedJvm, attach};
use super::{dump, virtual_threads};
use record::watch::CloserLook;
use std::time::{Duration, Instant};

/// Time limit for the socket and all answers together; a second is usual on a busy machine.
const PATIENCE: Duration = Duration::from_secs(3);

/// Takes one thread dump of a HotSpot VM, which stops all of its threads for some milliseconds.
///
/// For virtual threads, only counts those waiting, not where each stands: the command for that,
/// `Thread.dump_to_file`, walks stacks that change meanwhile, and has been seen to crash JDK 25.
///
/// What cannot be had becomes [`CloserLook::Refused`]. Blocks for about three seconds at most.
pub(crate) fn dump_threads(pid: u32) -> Vec<CloserLook> {
    let refused = |why: String| CloserLook::Refused { of: format!("JVM {pid}"), why };
    let until = Instant::now() + PATIENCE;
    let jvm = match attach(pid, until) {
        Ok(jvm) => jvm,
        Err(why) => return vec![refused(why)],
    };
    let began = Instant::now();
    let text = match jvm.execute("threaddump", "", until) {
        Ok(text) => text,
        Err(why) => return vec![refused(why)],
    };
    let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let dump = dump::parse(&text);
    let mut looks = vec![CloserLook::Threads { pid, took_ns, at: dump.stacks.list() }];
    if dump.has_virtual_threads {
        // Asking a VM without virtual threads would start their scheduler.
        looks.extend(look_at_virtual_threads(pid, &jvm, until));
    }
    looks
}

fn look_at_virtual_threads(pid: u32, jvm: &AttachedJvm, until: Instant) -> Vec<CloserLook> {
    let refused = |why: &str| CloserLook::Refused {
        of: format!("the virtual threads of JVM {pid}"),
        why: why.to_owned(),
    };
    let answer = jvm.execute("jcmd", "Thread.vthread_scheduler", until).and_then(|scheduler| {
        let pollers = jvm.execute("jcmd", "Thread.vthread_pollers", until)?;
        virtual_threads::parse_scheduler(pid, &scheduler, &pollers)
            .ok_or_else(|| "it does not say how many wait; JDK 24 and later do".to_owned())
    });
    match answer {
        Ok(counts) => vec![
            CloserLook::VirtualThreads(counts),
            refused(
                "it is not asked where each of them is: the command for that (Thread.dump_to_file) can \
                 crash the JVM",
            ),
        ],
        Err(why) => vec![refused(&why)],
    }
}
