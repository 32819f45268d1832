//! A closer look from outside: the functions that the service's threads wait in. Stacks are read from
//! memory; nothing is asked or stopped.

use crate::jvm::frames::{LIBRARIES, StackCounts, StackKey, WAITING};
use crate::source::Source;
use crate::watch_scope::WatchScope;
use record::watch::{ApplicationFrame, CloserLook, StackGroup, WatchedProcesses, Window};
use record::{CodeFunction, Profile, StackCount};
use std::sync::mpsc::{Receiver, Sender, channel};
use units::Nanos;

/// Modules that wait on behalf of their callers; the kernel's functions are system calls.
const WAITING_MODULES: [&str; 8] =
    units::texts!["[kernel]" "[vdso]" "[JVM]" "libc.so" "libc-" "libpthread" "ld-" "libjvm.so"];

/// Prefixes of functions that do so, in languages other than Java: of a statically linked C library, and of
/// locks, queues and sockets.
const WAITING_NATIVE: [&str; 15] = units::texts![
    "__" "pthread_" "sem_" "epoll_" "std::" "core::" "alloc::" "parking_lot" "crossbeam" "runtime." "threading." "queue."
    "concurrent.futures." "selectors." "socket."
];

/// Full names of such functions, besides those of system calls.
const WAITING_WHOLE: [&str; 5] = units::texts!["syscall" "sleep" "usleep" "recv" "send"];

/// Prefixes of libraries, besides waiting functions.
const LIBRARIES_NATIVE: [&str; 5] = units::texts!["tokio::" "tokio_" "mio::" "rayon" "uv_"];

/// Takes the closer look on a separate thread.
pub(crate) struct WaitingThreadsSource {
    /// A Java VM will be asked, and tells more.
    attach: bool,
    /// Looks taken together are sent together: the receiver waits only for the first to arrive.
    looks: (Sender<Vec<CloserLook>>, Receiver<Vec<CloserLook>>),
}

impl WaitingThreadsSource {
    /// `attach`: whether a Java VM may be asked.
    pub fn new(attach: bool) -> Self {
        Self { attach, looks: channel() }
    }
}

impl Source for WaitingThreadsSource {
    fn cut(&mut self, _scene: &WatchScope, _window: &mut Window) {}

    /// Of the service and its downstream processes, which may be behind what gives first. PostgreSQL itself
    /// says what its sessions wait for.
    fn start_closer_look(&mut self, scope: &WatchScope) {
        let tells_more = |about: &WatchedProcesses| about.is_postgres || self.attach && about.java.is_some();
        let silent =
            scope.subjects.iter().filter(|subject| !subject.pids.is_empty() && !tells_more(&subject.about));
        let each: Vec<(u32, Vec<u32>)> =
            silent.map(|subject| (subject.about.pid, subject.pids.clone())).collect();
        let send = self.looks.0.clone();
        // Without a thread there is no closer look; the verdict does without.
        let _ = std::thread::Builder::new().name("closer-look".to_owned()).spawn(move || {
            // The watch may be over by then.
            send.send(each.iter().map(|(pid, pids)| sample_waiting_threads(*pid, pids)).collect())
        });
    }

    fn closer_looks(&mut self) -> Vec<CloserLook> {
        self.looks.1.try_iter().flatten().collect()
    }
}

/// Where threads of these processes and all their descendants wait now; `pid` names their owner, 0 if
/// irrelevant.
pub fn sample_waiting_threads(pid: u32, pids: &[u32]) -> CloserLook {
    match profile::sample_waiting(pids) {
        Ok(profile) => {
            let Nanos(took_ns) = profile.length;
            CloserLook::Stacks { pid, took_ns, at: places(&profile) }
        }
        Err(why) => {
            CloserLook::Refused { of: "the stacks of threads that wait".to_owned(), why: why.to_string() }
        }
    }
}

/// Groups threads that stand alike, one line each.
fn places(profile: &Profile) -> Vec<StackGroup> {
    let mut places = StackCounts::default();
    for stack in &profile.stacks {
        if let Some(place) = place(profile, *stack) {
            places.count(place, u32::try_from(stack.2).unwrap_or(u32::MAX));
        }
    }
    places.list()
}

/// The first function that is not waiting itself, and the program's function that called it.
fn place(profile: &Profile, stack: StackCount) -> Option<StackKey> {
    let group = profile.threads.get(stack.0 as usize)?.clone();
    let mut functions =
        profile.frames(stack).map(|of| StackFunction::of(profile, &profile.functions[of as usize]));
    let call = functions.next()?;
    let (holders, frames): (Vec<_>, Vec<_>) = functions.partition(|code| code.module == profile::HOLDER);
    let at = frames.iter().position(|code| !code.is_waiting()).unwrap_or(0);
    let (inner, callers) = frames.get(at..).and_then(<[_]>::split_first)?;
    let holder = holders.first().map_or(String::new(), |by| format!(", held by {}", by.name));
    let asker = callers.iter().find(|code| code.is_of_the_program());
    Some(StackKey {
        group,
        frame: inner.name.to_owned() + &holder,
        state: call.name.to_owned(),
        asked_by: asker
            .map(|code| ApplicationFrame { method: code.name.to_owned(), place: code.source_line() }),
    })
}

#[derive(Clone, Copy)]
struct StackFunction<'a> {
    name: &'a str,
    module: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
}

impl<'a> StackFunction<'a> {
    fn of(profile: &'a Profile, function: &'a CodeFunction) -> Self {
        let module = profile.modules.get(function.module as usize).map_or("", |module| module.name.as_str());
        Self { name: &function.name, module, file: function.file.as_deref(), line: function.line }
    }

    /// Whether its name has one of these prefixes; methods that Rust shows with their type begin with `<`.
    fn is_one_of(&self, beginnings: &[&str]) -> bool {
        let name = self.name.trim_start_matches(['<', '&']);
        beginnings.iter().any(|begins| name.starts_with(begins))
    }

    /// Whether it waits on behalf of its caller.
    fn is_waiting(&self) -> bool {
        WAITING_MODULES.iter().any(|module| self.module.starts_with(module))
            || self.is_one_of(&WAITING)
            || self.is_one_of(&WAITING_NATIVE)
            || WAITING_WHOLE.contains(&self.name)
            || sys::syscall_number(self.name).is_some()
    }

    /// Whether it is neither a library's nor a runtime's.
    fn is_of_the_program(&self) -> bool {
        let of_others =
            |file: &str| ["/python3", "-packages/", "<frozen"].iter().any(|part| file.contains(part));
        !(self.is_waiting()
            || self.module.starts_with('[')
            || self.module.contains(".so")
            || self.name.contains("$$")
            || self.file.is_some_and(of_others)
            || self.is_one_of(&LIBRARIES)
            || self.is_one_of(&LIBRARIES_NATIVE))
    }

    /// `Owners.java:71`.
    fn source_line(&self) -> Option<String> {
        let (file, line) = self.file.zip(self.line)?;
        Some(format!("{}:{line}", file.rsplit('/').next().unwrap_or(file)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallNode, CodeModule};

    /// Checks the place of a stack, given innermost first: module, name, file.
    fn check(frames: &[(&str, &str, &str)], frame: &str, asker: Option<&str>) {
        let module = |module: &str| CodeModule { name: module.to_owned(), nameless: None };
        let function = |(at, (_, name, file)): (usize, &(&str, &str, &str))| CodeFunction {
            name: (*name).to_owned(),
            module: at as u32,
            file: (!file.is_empty()).then(|| (*file).to_owned()),
            line: Some(7),
        };
        let depth = frames.len() as u32;
        let call = |nth: u32| CallNode::new(nth.checked_sub(1), depth - 1 - nth);
        let seen = Profile {
            threads: vec!["worker-N".to_owned()],
            modules: frames.iter().map(|frame| module(frame.0)).collect(),
            functions: frames.iter().enumerate().map(function).collect(),
            calls: (0..depth).map(call).collect(),
            stacks: vec![StackCount(0, depth - 1, 3)],
            ..Profile::default()
        };
        let at = places(&seen).remove(0);
        assert_eq!((at.group.as_str(), at.threads, at.state.as_str()), ("worker-N", 3, "futex"));
        assert_eq!(at.frame, frame);
        let found = at.asked_by.map(|by| format!("{} {}", by.method, by.place.unwrap_or_default()));
        assert_eq!(found.as_deref().map(str::trim), asker);
    }

    #[test]
    fn the_first_function_that_does_not_wait_as_such_and_who_called_it() {
        let futex = ("[kernel]", "futex", "");
        check(
            &[
                futex,
                ("libc.so.6", "pthread_cond_wait", ""),
                ("app", "Pool::take", ""),
                ("app", "handle", ""),
                ("libc.so.6", "start_thread", ""),
            ],
            "Pool::take",
            Some("handle"),
        );
        check(
            &[
                futex,
                ("app", "syscall", ""),
                ("app", "<std::sys::sync::mutex::futex::Mutex>::lock_contended", ""),
                ("app", "shop::stock", ""),
                ("app", "std::sys::backtrace::__rust_begin_short_backtrace", ""),
                ("app", "tokio::runtime::blocking::run", ""),
            ],
            "shop::stock",
            None,
        );
        check(
            &[
                futex,
                ("libjvm.so", "Unsafe_Park", ""),
                ("java.util", "java.util.concurrent.locks.LockSupport.park", "LockSupport.java"),
                ("com.zaxxer", "com.zaxxer.hikari.pool.HikariPool.getConnection", "HikariPool.java"),
                ("org.hibernate", "org.hibernate.Session.find", "Session.java"),
                ("shop", "shop.Owners.find", "Owners.java"),
            ],
            "com.zaxxer.hikari.pool.HikariPool.getConnection",
            Some("shop.Owners.find Owners.java:7"),
        );
        check(
            &[
                futex,
                ("libc.so.6", "[libc.so.6]", ""),
                ("threading", "threading.Condition.wait", "/usr/lib/python3.11/threading.py"),
                (
                    "sqlalchemy",
                    "sqlalchemy.pool.checkout",
                    "/v/lib/python3.11/site-packages/sqlalchemy/pool.py",
                ),
                ("shop", "shop.find", "/srv/shop.py"),
            ],
            "sqlalchemy.pool.checkout",
            Some("shop.find shop.py:7"),
        );
        let keeper = ("[holder]", "keeper (thread 7)", "");
        check(&[futex, keeper, ("app", "guarded", "")], "guarded, held by keeper (thread 7)", None);
        check(&[futex, ("libc.so.6", "[libc.so.6]", "")], "[libc.so.6]", None);
    }

    #[test]
    fn a_thread_without_functions_stands_nowhere() {
        let seen = Profile { stacks: vec![StackCount(0, 0, 1)], ..Profile::default() };
        assert!(places(&seen).is_empty());
    }
}
