//! HotSpot's attach protocol: a local socket in /tmp by which a VM takes commands from its own user. The VM
//! creates it when it handles SIGQUIT and finds a certain file; that signal would kill any other process,
//! so it is sent through a pidfd, after checking again what the process is.

use super::perfdata;
use super::process::{self, ProcessKind, Status};
use super::tmp_dir::TmpDir;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{Error, ErrorKind};
use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval between checks for the VM's socket.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Maximum size of an answer: a dump of 10,000 threads has 30 MB.
const MAX_BYTES: usize = 64 << 20;

/// A VM that accepts commands.
pub(super) struct AttachedJvm {
    pid: u32,
    status: Status,
    tmp: TmpDir,
    socket: String,
}

/// Attaches; the error says why that is not possible or not safe.
pub(super) fn attach(pid: u32, until: Instant) -> Result<AttachedJvm, String> {
    let failed = |error: Error| match error.kind() {
        ErrorKind::NotFound => "it has ended".to_owned(),
        ErrorKind::PermissionDenied => {
            "it may not be looked at; run torment as its user, or as root".to_owned()
        }
        _ => error.to_string(),
    };
    let gone = || "it has ended".to_owned();
    let started = process::started(pid).ok_or_else(gone)?;
    // From here on signals go to this process, never to a later one with the same PID.
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    let handle = pidfd_open(number, PidfdFlags::empty()).map_err(|e| failed(e.into()))?;
    let status = check(pid, started, failed)?;
    let tmp = TmpDir::of_process(pid).map_err(failed)?;
    let attached = AttachedJvm { pid, socket: format!(".java_pid{}", status.inner_pid), status, tmp };
    if !attached.has_socket() {
        if let Some(option) = attached.sigquit_option() {
            return Err(format!("it runs with {option}, which forbids it"));
        }
        attached.wake(&handle, started, until)?;
    }
    Ok(attached)
}

/// Checks that it is a HotSpot VM that would accept our commands, and the same process as before. `failed`
/// renders system errors.
fn check(pid: u32, started: u64, failed: fn(Error) -> String) -> Result<Status, String> {
    let refuse = |why: &str| Err(why.to_owned());
    let status = process::status(pid).map_err(failed)?;
    let own = rustix::process::geteuid();
    if !own.is_root() && own.as_raw() != status.user {
        return refuse("it belongs to another user; run torment as that user, or as root");
    }
    match process::kind(pid).map_err(failed)? {
        ProcessKind::HotSpot => {}
        ProcessKind::OpenJ9 => return refuse("it is an OpenJ9 machine; only HotSpot can be asked"),
        ProcessKind::Other => return refuse("it is not a HotSpot machine (no libjvm.so among its code)"),
    }
    if process::has_same_users(pid) == Some(false) {
        return refuse(
            "it is in another user namespace, where its users are not ours; run torment inside of it",
        );
    }
    if status.state == 'T' || status.state == 't' {
        return refuse("it is stopped");
    }
    if process::started(pid) != Some(started) {
        return refuse("it has ended");
    }
    Ok(status)
}

impl AttachedJvm {
    /// Whether the socket exists and belongs to the VM.
    fn has_socket(&self) -> bool {
        self.tmp.stat(&self.socket).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::Socket && stat.st_uid == self.status.user
        })
    }

    /// An option that gives SIGQUIT another meaning.
    fn sigquit_option(&self) -> Option<&'static str> {
        const OPTIONS: [&str; 3] = ["-XX:+DisableAttachMechanism", "-Xrs", "-XX:+ReduceSignalUsage"];
        let counters = perfdata::of_process(self.pid).unwrap_or_default();
        // The counters also include options from files.
        let vm_options =
            ["java.rt.vmArgs", "java.rt.vmFlags"].map(|name| counters.text(name).unwrap_or_default());
        OPTIONS.into_iter().find(|option| {
            vm_options.iter().any(|text| text.contains(option)) || process::has_option(self.pid, option)
        })
    }

    /// Makes the VM create its socket.
    fn wake(&self, handle: &OwnedFd, started: u64, until: Instant) -> Result<(), String> {
        let file = format!(".attach_pid{}", self.status.inner_pid);
        // A leftover would do as well, unless it belongs to another user.
        self.tmp.remove(&file);
        self.tmp
            .make(&file, self.status.user, self.status.group)
            .map_err(|error| format!("{file} cannot be made in its /tmp: {error}"))?;
        let woken = self.signal_and_wait(handle, started, until);
        self.tmp.remove(&file);
        woken
    }

    fn signal_and_wait(&self, handle: &OwnedFd, started: u64, until: Instant) -> Result<(), String> {
        let status = check(self.pid, started, |error| error.to_string())?;
        if !status.handles_quit {
            return Err(
                "it does not handle SIGQUIT (-Xrs, or it is just starting), which would end it".to_owned()
            );
        }
        pidfd_send_signal(handle, Signal::QUIT)
            .map_err(|error| format!("it cannot be signalled: {error}"))?;
        while !self.has_socket() {
            if Instant::now() >= until {
                return Err("it did not open its socket in time".to_owned());
            }
            if process::started(self.pid) != Some(started) {
                return Err("it has ended".to_owned());
            }
            sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn connect(&self, until: Instant) -> Result<OwnedFd, String> {
        let failed = |error: Errno| format!("its socket in /tmp refused: {error}");
        let address = SocketAddrUnix::new(self.tmp.path(&self.socket)).map_err(failed)?;
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
                .map_err(failed)?;
            match rustix::net::connect(&socket, &address) {
                Ok(()) => return Ok(socket),
                // Other clients are connecting, and its backlog is full.
                Err(Errno::AGAIN) if Instant::now() < until => sleep(POLL_INTERVAL),
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// The answer to a command. Fails, with a message, if the VM refuses, closes, or takes too long.
    pub fn execute(&self, command: &str, argument: &str, until: Instant) -> Result<String, String> {
        let socket = self.connect(until)?;
        // The protocol requires exactly three arguments.
        let request = format!("1\0{command}\0{argument}\0\0\0");
        // Far shorter than the socket's buffer, so written in one go.
        match rustix::io::write(&socket, request.as_bytes()) {
            Ok(sent) if sent == request.len() => answer(&read_all(&socket, until)?),
            Ok(_) => Err("its socket took only part of the command".to_owned()),
            Err(error) => Err(format!("its socket did not take the command: {error}")),
        }
    }
}

/// The text of a successful answer.
fn answer(bytes: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let (status, text) = text
        .split_once('\n')
        .ok_or("it closed its socket without an answer: it does not take these commands")?;
    if status.trim() == "0" {
        return Ok(text.to_owned());
    }
    let first = text.lines().next().unwrap_or_default();
    Err(format!("it answered with error {}: {first}", status.trim()))
}

/// Reads to the end of the stream.
fn read_all(from: &OwnedFd, until: Instant) -> Result<Vec<u8>, String> {
    let (mut all, mut buffer) = (Vec::new(), [0; 32 << 10]);
    loop {
        if !wait(from, until) {
            return Err("it did not answer in time".to_owned());
        }
        match rustix::io::read(from, &mut buffer) {
            Ok(0) => return Ok(all),
            Ok(n) if all.len() + n > MAX_BYTES => {
                return Err(format!("its answer is longer than {} MiB", MAX_BYTES >> 20));
            }
            Ok(n) => all.extend_from_slice(&buffer[..n]),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(format!("its answer cannot be read: {error}")),
        }
    }
}

/// Waits until it is readable; false on timeout.
fn wait(from: &OwnedFd, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a few seconds fit");
        match poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&left)) {
            Ok(0) => return false,
            Err(Errno::INTR) => {}
            // Reading a broken descriptor will report its error.
            Ok(_) | Err(_) => return true,
        }
    }
}
