use crate::check_processors;
use crate::with_parent::end_with_parent;
use rustix::process::{Signal, getpid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Signals that ask a program to end; not SIGHUP, which nohup(1) has it ignore on purpose.
const TERMINATION_SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// Has the program of `command`, before its first instruction, enter the control groups whose open
/// `cgroup.procs` are given, run on these processors only (all of ours if none is named), and be sent `death`
/// when the thread that starts it ends (PR_SET_PDEATHSIG(2const)). Must be called by that thread, once per
/// command.
///
/// Signals that ask a program to end are reset to do so, even if this process ignores them: a shell starts
/// background jobs with SIGINT and SIGQUIT ignored, which every program after it would inherit, and no shell
/// can undo for itself.
///
/// Fails as [`check_processors`] does. What the kernel refuses later, [`Command::spawn`] reports.
pub fn configure_child(
    command: &mut Command,
    death_signal: Signal,
    processors: &[u32],
    groups: Vec<OwnedFd>,
) -> io::Result<()> {
    check_processors(processors)?;
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu as usize));
    let bound = !processors.is_empty();
    let parent = getpid();
    let enter = move || {
        for group in &groups {
            // 0 is the writing process (cgroups(7)).
            rustix::io::write(group, b"0")?;
        }
        if bound {
            sched_setaffinity(None, &set)?;
        }
        for signal in TERMINATION_SIGNALS {
            // SAFETY: a system call that changes this child alone; no handler is installed.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        end_with_parent(parent, death_signal)
    };
    // SAFETY: between fork and exec only system calls are made, on values made before the fork: no memory is
    // allocated or freed and no lock taken, so it does not matter what other threads of this process were
    // doing.
    unsafe {
        command.pre_exec(enter);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;
    use std::io::{Read, Seek};

    #[test]
    fn a_child_starts_bound_and_written_down() {
        let allowed = sched_getaffinity(None).expect("every kernel has it");
        let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu)).expect("this runs somewhere");
        let first = u32::try_from(first).expect("a processor's number is small");
        // Stands for a group's cgroup.procs: what is written is what counts.
        let mut file = tempfile();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "grep Cpus_allowed_list /proc/self/status"]);
        let group = file.try_clone().expect("a descriptor is free").into();
        configure_child(&mut command, Signal::KILL, &[first], vec![group]).expect("it is ours to run on");
        let output = command.output().expect("every Linux has a shell");
        let cpu_list = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(cpu_list.split_whitespace().last(), Some(first.to_string().as_str()), "{cpu_list}");
        let mut text = String::new();
        file.rewind().expect("a file");
        file.read_to_string(&mut text).expect("a file");
        assert_eq!(text, "0");
        let error = configure_child(&mut Command::new("/bin/true"), Signal::KILL, &[4000], Vec::new());
        assert!(error.expect_err("there are fewer").to_string().contains("processor 4000"));
    }

    #[test]
    fn a_child_can_be_asked_to_end_although_we_cannot() {
        // SAFETY: nobody sends this process SIGQUIT, and nothing else here depends on its action.
        unsafe { libc::signal(libc::SIGQUIT, libc::SIG_IGN) };
        let ignored = |change: &dyn Fn(&mut Command)| {
            let mut command = Command::new("/bin/grep");
            command.args(["SigIgn", "/proc/self/status"]);
            change(&mut command);
            let output = command.output().expect("every Linux has it").stdout;
            let line = String::from_utf8_lossy(&output).into_owned();
            let mask = line.split_whitespace().last().and_then(|word| u64::from_str_radix(word, 16).ok());
            mask.expect("a mask") >> (libc::SIGQUIT - 1) & 1
        };
        assert_eq!(ignored(&|_| {}), 1, "it would be inherited");
        let configured = |command: &mut Command| {
            configure_child(command, Signal::KILL, &[], Vec::new()).expect("nothing is asked");
        };
        assert_eq!(ignored(&configured), 0);
    }

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let child = std::thread::spawn(|| {
            let mut command = Command::new("/bin/sleep");
            command.arg("600");
            configure_child(&mut command, Signal::TERM, &[], Vec::new()).expect("nothing is asked");
            command.spawn().expect("every Linux has it")
        });
        let mut child = child.join().expect("it started");
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(child.wait().expect("ours").signal(), Some(Signal::TERM.as_raw()));
    }

    fn tempfile() -> std::fs::File {
        let fd = rustix::fs::memfd_create("group", rustix::fs::MemfdFlags::CLOEXEC);
        fd.expect("every kernel has it").into()
    }
}
