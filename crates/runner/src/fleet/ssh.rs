//! A member on another machine, through the user's own ssh: with its authentication and `~/.ssh/config`, no open port,
//! and nothing left behind there.
//!
//! A remote shell starts the torment it finds, if it is this very build. Otherwise it copies this program from standard
//! input into a file that it unlinks, and starts that. From then on standard input and output are the link.

use super::member_state::{MemberState, READY_LIMIT};
use crate::build::VERSION;
use fleet::FleetRole;
use link::Duplex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Prefix of our shell script's lines; other output, such as a profile's, is ignored.
const LINE_PREFIX: &str = "torment-worker ";
/// Most output to skip before that.
const NOISE_MOST: usize = 64 << 10;
/// Chunk size of the copy.
const COPY_CHUNK: usize = 64 << 10;
/// A copy that makes no progress for this long has failed.
const COPY_STALL_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// Where programs are often installed but the PATH of a shell without a terminal does not lead.
const INSTALL_PATHS: &str = r#"torment "$HOME/.local/bin/torment" "$HOME/bin/torment" "$HOME/.cargo/bin/torment" /usr/local/bin/torment"#;

/// This program, even if its file was renamed.
const PROGRAM: &str = "/proc/self/exe";

/// A member's number, and the connection to it, or why there is none.
pub(super) type ConnectResult = (u32, Result<Duplex, String>);

/// Members being connected.
#[derive(Debug)]
pub(super) struct PendingConnections {
    sender: Sender<ConnectResult>,
    results: Receiver<ConnectResult>,
    /// Nobody waits for them any more.
    cancelled: Arc<AtomicBool>,
}

impl PendingConnections {
    pub fn new() -> Self {
        let (tell, arrived) = channel();
        Self { sender: tell, results: arrived, cancelled: Arc::default() }
    }

    /// Starts ssh to a host, for a member there; the result comes from [`Self::next`]. It ends with the calling thread.
    pub fn connect(
        &self,
        number: u32,
        host: &str,
        binary: Option<&str>,
        role: FleetRole,
    ) -> io::Result<MemberState> {
        let program = File::open(PROGRAM)?;
        let mut ssh = start(host, binary, program.metadata()?.len(), role)?;
        let (passage, tell) = (SshBootstrap::of(&mut ssh, &self.cancelled)?, self.sender.clone());
        std::thread::Builder::new().name("arriving".to_owned()).spawn(move || {
            let _ = tell.send((number, passage.run(&program)));
        })?;
        MemberState::over_ssh(ssh, host)
    }

    /// The next connection, or failure.
    pub fn next(&self) -> Option<ConnectResult> {
        self.results.try_recv().ok()
    }

    /// Stops waiting for all.
    pub fn give_up(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Starts ssh to this host; it dies with the calling thread.
fn start(host: &str, binary: Option<&str>, length: u64, role: FleetRole) -> io::Result<Child> {
    let mut command = Command::new("ssh");
    // No prompt for a password, no forwarding, no shared connection.
    command.args("-T -a -x -o BatchMode=yes -o ClearAllForwardings=yes -o ControlMaster=no".split(' '));
    command.args(["--", host, &script(binary, length, role)]);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    sys::configure_child(&mut command, rustix::process::Signal::KILL, &[], Vec::new())?;
    command.spawn().map_err(|why| match why.kind() {
        io::ErrorKind::NotFound => {
            io::Error::other("there is no ssh on this machine: install openssh-client")
        }
        _ => why,
    })
}

/// The remote shell's script. Any shell takes a text in single quotes that has no quote, backslash, exclamation mark or
/// line end.
fn script(binary: Option<&str>, length: u64, role: FleetRole) -> String {
    let command = role.name();
    let (build, program) = (format!("torment {VERSION}"), crate::build::version_and_build());
    let named = binary.map(|binary| match binary.strip_prefix("~/") {
        Some(rest) => format!("\"$HOME/{rest}\""),
        None => format!("\"{binary}\""),
    });
    let lines = [
        format!("say() {{ echo \"{LINE_PREFIX}$*\"; }}"),
        // A named program may be for another architecture, where builds always differ: its version is checked when it
        // joins.
        match &named {
            Some(named) => find_program_line(named, "--version", &build, command),
            None => find_program_line(INSTALL_PATHS, "stamp", &program, command),
        },
        if named.is_some() {
            "say lacks; exit 1".to_owned()
        } else {
            "say wants $(uname -s) $(uname -m)".to_owned()
        },
        // An empty file is a script that does nothing, unless the file system is noexec.
        "for d in \"${TMPDIR:-/tmp}\" \"$HOME\" /dev/shm /var/tmp; do f=$(mktemp \"$d/torment.XXXXXX\" 2>/dev/null) || continue; chmod 700 \"$f\"; \
         if \"$f\" </dev/null 2>/dev/null; then break; fi; rm -f \"$f\"; f=; done"
            .to_owned(),
        "if [ -z \"$f\" ]; then say fails there is no folder in which a program may be run; exit 1; fi".to_owned(),
        format!("exec 3>\"$f\" 4<\"$f\"; rm -f \"$f\"; head -c {length} >&3; exec 3>&-"),
        "v=$(/proc/self/fd/4 --version 2>&1 </dev/null)".to_owned(),
        format!("if [ \"$v\" = \"{build}\" ]; then say runs; exec /proc/self/fd/4 {command}; fi"),
        "say fails $v; exit 1".to_owned(),
    ];
    format!("exec sh -c '{}'", lines.join("; "))
}

/// Starts the first of these programs that prints `says` when asked.
fn find_program_line(places: &str, asked: &str, says: &str, command: &str) -> String {
    format!(
        "for t in {places}; do if [ \"$(\"$t\" {asked} 2>/dev/null </dev/null)\" = \"{says}\" ]; then say runs; exec \"$t\" {command}; fi; done"
    )
}

/// Both directions to a program at the other end of ssh.
struct SshBootstrap {
    stdout: OwnedFd,
    stdin: OwnedFd,
    cancelled: Arc<AtomicBool>,
    /// Deadline, unless something happens.
    deadline: Instant,
}

impl SshBootstrap {
    /// Of a child from [`start`].
    fn of(child: &mut Child, cancelled: &Arc<AtomicBool>) -> io::Result<Self> {
        let ends = child.stdout.take().zip(child.stdin.take());
        let (from, to) = ends.ok_or_else(|| io::Error::other("it has no pipes"))?;
        let (from, to) = (OwnedFd::from(from), OwnedFd::from(to));
        for end in [&from, &to] {
            fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            stdout: from,
            stdin: to,
            cancelled: Arc::clone(cancelled),
            deadline: Instant::now() + READY_LIMIT,
        })
    }

    /// Waits until a member runs there, copying this program if necessary. The error says what is wrong there; it is
    /// empty if ssh itself ended.
    fn run(mut self, program: &File) -> Result<Duplex, String> {
        let line = self.read_line()?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let line = match word {
            "wants" => {
                self.copy(program, rest)?;
                self.read_line()?
            }
            _ => line,
        };
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("runs", _) => Ok(Duplex::pipes(self.stdout, self.stdin)),
            ("lacks", _) => Err(format!("there is no torment {VERSION} where --remote-binary says")),
            (_, why) => Err(format!("torment was copied there and does not run: {}", why.trim())),
        }
    }

    /// The script's next line.
    fn read_line(&mut self) -> Result<String, String> {
        let (mut line, mut noise) = (Vec::new(), 0);
        loop {
            self.wait(PollFlags::IN)?;
            let mut byte = [0];
            // Byte by byte: what follows is for the link.
            match rustix::io::read(&self.stdout, &mut byte) {
                Ok(0) => return Err(String::new()),
                Ok(_) if byte[0] == b'\n' => {
                    let output_line = String::from_utf8_lossy(&line).trim().to_owned();
                    if let Some(output_line) = output_line.strip_prefix(LINE_PREFIX.trim_end()) {
                        return Ok(output_line.trim().to_owned());
                    }
                    line.clear();
                }
                Ok(_) if noise == NOISE_MOST => return Err("whoever answers there is no shell".to_owned()),
                Ok(_) => {
                    noise += 1;
                    line.push(byte[0]);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_) => return Err(String::new()),
            }
        }
    }

    fn copy(&mut self, program: &File, machine: &str) -> Result<(), String> {
        let ours = format!("Linux {}", std::env::consts::ARCH);
        if machine != ours {
            return Err(format!(
                "it is of another kind ({machine}) than this machine ({ours}): put the torment {VERSION} that is for it there, \
                 and say where: --remote-binary PATH"
            ));
        }
        let (mut program, mut piece) = (program, vec![0; COPY_CHUNK]);
        loop {
            let length =
                program.read(&mut piece).map_err(|why| format!("torment cannot read itself: {why}"))?;
            if length == 0 {
                return Ok(());
            }
            let mut left = &piece[..length];
            while !left.is_empty() {
                self.wait(PollFlags::OUT)?;
                match rustix::io::write(&self.stdin, left) {
                    Ok(written) => {
                        left = &left[written..];
                        self.deadline = Instant::now() + COPY_STALL_LIMIT;
                    }
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(_) => return Err(String::new()),
                }
            }
        }
    }

    fn wait(&self, what: PollFlags) -> Result<(), String> {
        let end = if what == PollFlags::IN { self.stdout.as_fd() } else { self.stdin.as_fd() };
        let look = Timespec { tv_sec: 0, tv_nsec: POLL.as_nanos() as i64 };
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err("nobody waits for it any more".to_owned());
            }
            if poll(&mut [PollFd::from_borrowed_fd(end, what)], Some(&look)).is_ok_and(|ready| ready > 0) {
                return Ok(());
            }
            if Instant::now() > self.deadline {
                return Err(format!("nothing happened there for {} s", READY_LIMIT.as_secs()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It fits into single quotes on the command line of any shell.
    #[test]
    fn any_shell_takes_the_script() {
        for binary in [None, Some("~/bin/torment"), Some("/opt/t")] {
            let script = script(binary, 9, FleetRole::Watcher);
            assert!(script.contains(" watcher; fi"), "{script}");
            let inner =
                script.strip_prefix("exec sh -c '").and_then(|text| text.strip_suffix('\'')).expect("quoted");
            assert!(!inner.contains(['\'', '\\', '!', '\n']), "{inner}");
            let status = Command::new("sh").args(["-n", "-c", inner]).status().expect("there is a shell");
            assert!(status.success(), "{inner}");
        }
    }
}
