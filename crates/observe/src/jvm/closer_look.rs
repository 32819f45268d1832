use super::attach::{AttachedJvm, attach};
use super::{dump, virtual_threads};
use record::watch::CloserLook;
use std::time::{Duration, Instant};

/// How long the socket and all answers may take together; a second is usual where the processors are full.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks a HotSpot machine once where its threads stand. It stops all of them for some milliseconds.
///
/// Of virtual threads it is asked how many wait, and not where each of them stands: the command that would
/// tell, `Thread.dump_to_file`, walks stacks that change meanwhile, and JDK 25 has been seen to crash of it.
///
/// What cannot be had is said as [`Look::Refused`]. Blocks for about three seconds at most.
pub(crate) fn dump_threads(pid: u32) -> Vec<CloserLook> {
    let refused = |why: String| CloserLook::Refused { of: format!("JVM {pid}"), why };
    let until = Instant::now() + PATIENCE;
    let jvm = match attach(pid, until) {
        Ok(jvm) => jvm,
        Err(why) => return vec![refused(why)],
    };
    let began = Instant::now();
    let text = match jvm.ask("threaddump", "", until) {
        Ok(text) => text,
        Err(why) => return vec![refused(why)],
    };
    let took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let dump = dump::parse(&text);
    let mut looks = vec![CloserLook::Threads { pid, took_ns, at: dump.places.list() }];
    if dump.has_virtual_threads {
        // Asking a machine that has none would start what serves them.
        looks.extend(look_at_virtual_threads(pid, &jvm, until));
    }
    looks
}

fn look_at_virtual_threads(pid: u32, jvm: &AttachedJvm, until: Instant) -> Vec<CloserLook> {
    let refused = |why: &str| CloserLook::Refused {
        of: format!("the virtual threads of JVM {pid}"),
        why: why.to_owned(),
    };
    let asked = jvm.ask("jcmd", "Thread.vthread_scheduler", until).and_then(|scheduler| {
        let pollers = jvm.ask("jcmd", "Thread.vthread_pollers", until)?;
        virtual_threads::parse_scheduler(pid, &scheduler, &pollers)
            .ok_or_else(|| "it does not say how many wait; JDK 24 and later do".to_owned())
    });
    match asked {
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
