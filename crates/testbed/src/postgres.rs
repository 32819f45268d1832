//! A PostgreSQL server of the test's own: made in a temporary folder, stopped and removed when
//! dropped. It touches no server that runs already.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// On a busy machine the first start takes some seconds.
const START_PATIENCE: Duration = Duration::from_secs(60);
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// A running server with an empty database.
pub struct Postgres {
    server: Child,
    port: u16,
    folder: tempfile::TempDir,
}

/// An ordinary user and group; PostgreSQL refuses to run as root.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

impl Postgres {
    /// Starts a server on a free port of 127.0.0.1. `None`, said aloud, when PostgreSQL is not
    /// installed; panics when it is installed and does not start.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: PostgreSQL is not installed (apt-get install postgresql)");
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("torment-pg-")
            .tempdir()
            .expect("the temporary folder is writable");
        let user = ordinary_user();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("the folder is ours");
        if let Some(User { uid, gid }) = user {
            chown(folder.path(), Some(uid), Some(gid)).expect("root may give a folder away");
        }
        let data = folder.path().join("data");
        let made = command(&programs.join("initdb"), user, folder.path())
            .args([
                "--auth=trust",
                "--username=postgres",
                "--encoding=UTF8",
                "--no-locale",
                "--no-sync",
                "-D",
            ])
            .arg(&data)
            .output()
            .expect("initdb can be run");
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));

        // Freed again at once: another process could take it, which the start would then say.
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port is free").port();
        let log = fs::File::create(folder.path().join("log")).expect("the folder is writable");
        let server = command(&programs.join("postgres"), user, folder.path())
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(folder.path())
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", "max_connections=200"])
            .stderr(log.try_clone().expect("a descriptor is free"))
            .stdout(log)
            .spawn()
            .expect("postgres can be run");
        let mut this = Self { server, port, folder };
        this.wait_until_it_answers();
        Some(this)
    }

    /// `postgres://postgres@127.0.0.1:PORT/postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// The process of the server itself.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    fn wait_until_it_answers(&mut self) {
        let until = Instant::now() + START_PATIENCE;
        // The pid file's last line says `ready` once connections are taken (postmaster.pid).
        let ready = |folder: &Path| {
            fs::read_to_string(folder.join("data/postmaster.pid"))
                .is_ok_and(|text| text.trim_end().ends_with("ready"))
                && UnixStream::connect(folder.join(format!(".s.PGSQL.{}", self.port))).is_ok()
        };
        while !ready(self.folder.path()) {
            let ended = self.server.try_wait().expect("it is our child");
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(ended.is_none(), "PostgreSQL ended at once: {}", log());
            assert!(Instant::now() < until, "PostgreSQL did not start within a minute: {}", log());
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT is a fast shutdown: clients are disconnected, nothing is lost.
        if let Some(pid) = i32::try_from(self.server.id()).ok().and_then(Pid::from_raw) {
            // It may have ended already.
            let _ = kill_process(pid, Signal::INT);
        }
        let until = Instant::now() + STOP_PATIENCE;
        while matches!(self.server.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let _ = self.server.kill();
                let _ = self.server.wait();
                break;
            }
            sleep(Duration::from_millis(10));
        }
    }
}

/// The folder of `initdb` and `postgres`: the newest that Debian keeps, or the first in PATH.
fn programs() -> Option<PathBuf> {
    let mut debian: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    debian.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    debian
        .into_iter()
        .rev()
        .map(|(_, folder)| folder)
        .chain(std::env::split_paths(&path))
        .find(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file())
}

/// Whom to be instead of root: `postgres`, or else `nobody`. `None` when we are not root.
fn ordinary_user() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let table = fs::read_to_string("/etc/passwd").expect("every Linux has /etc/passwd");
    let find = |name: &str| {
        let line = table.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut columns = line.split(':').skip(2);
        Some(User { uid: columns.next()?.parse().ok()?, gid: columns.next()?.parse().ok()? })
    };
    Some(find("postgres").or_else(|| find("nobody")).expect("there is a user nobody"))
}

/// A command that runs as the given user, in a folder that this user can enter, and not within
/// our process group: a Ctrl-C at the test is ours to handle.
fn command(program: &Path, user: Option<User>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).process_group(0);
    if let Some(User { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}
