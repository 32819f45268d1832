//! Starting another program as a child.

use super::clone::{CLEAR_SIGHAND, ChildStep, PIDFD, VFORK, VM, clone, wait_for_child};
use crate::errors::check_code;
use rustix::process::{Pid, getpid};
use std::ffi::{CString, OsStr, c_char};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Passed to rt_sigprocmask(2) and rt_sigaction(2): no signal blocked, default action.
static ZEROS: [u64; 4] = [0; 4];
/// Bytes of the kernel's signal set.
const SIGNAL_SET: usize = 8;

/// A program ready to be started, any number of times, by any thread.
#[derive(Debug)]
pub struct PreparedProgram {
    path: CString,
    /// Its arguments, its name first.
    _arguments: Vec<CString>,
    /// Its environment, as `NAME=value`.
    _environment: Vec<CString>,
    /// Pointers into the above, whose buffers do not move; null-terminated.
    argv: Vec<*mut c_char>,
    envp: Vec<*mut c_char>,
}

// SAFETY: what the pointers lead to is owned, does not move, and is never written to.
unsafe impl Send for PreparedProgram {}
// SAFETY: as above.
unsafe impl Sync for PreparedProgram {}

impl PreparedProgram {
    /// The program in this file (PATH is not searched), with these arguments after the path itself, and with
    /// only this environment.
    ///
    /// # Errors
    /// If one of them contains a zero byte.
    pub fn new<A, K, V>(
        path: &Path,
        args: impl IntoIterator<Item = A>,
        env: impl IntoIterator<Item = (K, V)>,
    ) -> io::Result<Self>
    where
        A: AsRef<OsStr>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut arguments = vec![path.clone()];
        for argument in args {
            arguments.push(CString::new(argument.as_ref().as_bytes())?);
        }
        let mut environment = Vec::new();
        for (name, value) in env {
            environment
                .push(CString::new([name.as_ref().as_bytes(), value.as_ref().as_bytes()].join(&b'='))?);
        }
        let (argv, envp) = (pointers(&arguments), pointers(&environment));
        Ok(Self { path, _arguments: arguments, _environment: environment, argv, envp })
    }

    /// Starts it by clone3(2) with CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND | CLONE_PIDFD, so that the cost
    /// does not depend on the size of this process. Returns its number, and a descriptor that becomes readable
    /// when it has ended. The calling thread waits until it runs; nothing is allocated.
    ///
    /// It inherits the descriptors that do not close on exec, has every signal at its default and none blocked,
    /// and is killed when the thread that started it ends (PR_SET_PDEATHSIG). It has to be waited for.
    ///
    /// # Errors
    /// Those of clone3 (ENOSYS before Linux 5.3, and where a container forbids it; EINVAL before 5.5), or of
    /// execve: then there is no child.
    pub fn start(&self) -> io::Result<(Pid, OwnedFd)> {
        let (mut pidfd, mut failure) = (-1, 0);
        let none = (&raw const ZEROS).expose_provenance();
        let steps = [
            ChildStep::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, none, 0, SIGNAL_SET]),
            // Rust programs ignore SIGPIPE, and an ignored signal stays ignored.
            ChildStep::call(libc::SYS_rt_sigaction, [libc::SIGPIPE as usize, none, 0, SIGNAL_SET]),
            ChildStep::call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize]),
            // If this process ended before the call above, its signal never comes.
            ChildStep::call(libc::SYS_getppid, []).expecting(getpid().as_raw_nonzero().get() as isize),
            ChildStep::call(
                libc::SYS_execve,
                [
                    self.path.as_ptr().expose_provenance(),
                    self.argv.as_ptr().expose_provenance(),
                    self.envp.as_ptr().expose_provenance(),
                ],
            ),
        ];
        let flags = VM | VFORK | CLEAR_SIGHAND | PIDFD;
        // SAFETY: the last step is an execve; all that the steps read is owned by `self` or static; a
        // descriptor is requested and given a place; shared memory comes with CLONE_VFORK.
        let pid = unsafe { clone(flags, Some(&mut pidfd), &raw mut failure, steps.as_ptr()) }?;
        // SAFETY: the kernel has just opened it for us, and nobody else knows its number.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        // SAFETY: ours. Volatile, as the compiler knows of no other writer.
        match unsafe { (&raw const failure).read_volatile() } {
            0 => Ok((pid, pidfd)),
            failed => {
                let _ = wait_for_child(pid);
                Err(io::Error::from_raw_os_error(-failed as i32))
            }
        }
    }

    /// Starts it by libc's posix_spawn(3), with this thread's signal mask. It has to be waited for.
    ///
    /// # Errors
    /// Those of posix_spawn: then there is no child.
    pub fn posix_spawn(&self) -> io::Result<Pid> {
        let mut pid = 0;
        // SAFETY: a path and two arrays of strings, all owned by `self`, each null-terminated; the two in
        // between may be null (posix_spawn(3)).
        let failed = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                self.path.as_ptr(),
                null(),
                null(),
                self.argv.as_ptr(),
                self.envp.as_ptr(),
            )
        };
        check_code(failed)?;
        Ok(Pid::from_raw(pid).expect("a child's number is above 0"))
    }
}

fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([null_mut()]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::ended;
    use super::*;
    use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};
    use std::io::Read;
    use std::os::fd::{AsFd, AsRawFd};

    const NO_ENV: [(&str, &str); 0] = [];

    fn shell(script: &str, env: &[(&str, &str)]) -> PreparedProgram {
        PreparedProgram::new(Path::new("/bin/sh"), ["-c", script], env.iter().copied())
            .expect("no zero bytes")
    }

    #[test]
    fn a_program_gets_its_arguments_and_environment_and_gives_its_status() {
        let program = shell("test \"$WHAT\" = \"a word\" && exit 7", &[("WHAT", "a word")]);
        assert_eq!(program._arguments.len(), 3);
        assert_eq!(program._environment, [c"WHAT=a word".to_owned()]);
        let (pid, fd) = program.start().expect("every Linux has a shell");
        let ended_by_fd = waitid(WaitId::PidFd(fd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        assert!(ended_by_fd.expect("the descriptor is the child's").is_some());
        assert_eq!(ended(pid), Some(7));
        assert_eq!(ended(program.posix_spawn().expect("every Linux has a shell")), Some(7));
    }

    #[test]
    fn a_program_that_is_not_there_or_is_none_is_reported_and_leaves_no_child() {
        for (path, expected) in
            [("/proc/nowhere", libc::ENOENT), ("/etc/passwd", libc::EACCES), ("/", libc::EACCES)]
        {
            let program = PreparedProgram::new(Path::new(path), [""; 0], NO_ENV).expect("no zero bytes");
            for _ in 0..3 {
                assert_eq!(program.start().expect_err("no program").raw_os_error(), Some(expected), "{path}");
            }
            assert_eq!(
                program.posix_spawn().expect_err("no program").raw_os_error(),
                Some(expected),
                "{path}"
            );
        }
        assert!(PreparedProgram::new(Path::new("/a\0b"), [""; 0], NO_ENV).is_err());
    }

    #[test]
    fn signals_are_as_a_program_expects_them() {
        // Rust ignores SIGPIPE, and any thread of ours may block signals.
        let (mut output, input) = std::io::pipe().expect("two descriptors");
        let fd = input.as_raw_fd();
        rustix::io::fcntl_setfd(&input, rustix::io::FdFlags::empty()).expect("it is open");
        let program = shell(
            &format!("grep -E 'Sig(Blk|Ign)' /proc/self/status >/proc/self/fd/{fd}"),
            &[("PATH", "/usr/bin:/bin")],
        );
        let (pid, _fd) = program.start().expect("every Linux has a shell");
        drop(input);
        assert_eq!(ended(pid), Some(0));
        let mut text = String::new();
        output.read_to_string(&mut text).expect("a pipe");
        let masks: Vec<u64> = text
            .lines()
            .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
            .collect();
        let [blocked, ignored] = masks[..] else { panic!("{text}") };
        assert_eq!((blocked, ignored & 1 << (libc::SIGPIPE - 1)), (0, 0), "{text}");
    }

    #[test]
    fn it_ends_with_the_thread_that_started_it() {
        let program = shell("exec sleep 600", &[("PATH", "/usr/bin:/bin")]);
        let (pid, _fd) =
            std::thread::spawn(move || program.start()).join().expect("no panic").expect("a shell");
        assert_eq!(wait_for_child(pid).expect("ours").terminating_signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn many_threads_start_it_at_once() {
        let program = shell("exit 3", &[]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let (pid, _fd) = program.start().expect("a shell");
                        assert_eq!(ended(pid), Some(3));
                    }
                });
            }
        });
    }

    #[test]
    fn one_that_is_killed_is_seen_to_be() {
        let program = shell("exec sleep 600", &[("PATH", "/usr/bin:/bin")]);
        let (pid, _fd) = program.start().expect("a shell");
        kill_process(pid, Signal::TERM).expect("it is ours");
        assert_eq!(wait_for_child(pid).expect("ours").terminating_signal(), Some(libc::SIGTERM));
    }
}
