//! A PostgreSQL server of the test's own: made in a temporary folder, stopped and removed when
//! dropped. It touches no server that runs already.

use crate::server::{command, folder, free_port, ordinary_user, stop};
use rustix::process::Signal;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// On a busy machine the first start takes some seconds.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// A running server with an empty database.
pub struct Postgres {
    server: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Postgres {
    /// Starts a server on a free port of 127.0.0.1. `None`, said aloud, when PostgreSQL is not
    /// installed; panics when it is installed and does not start.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("SKIPPED: PostgreSQL is not installed (apt-get install postgresql)");
            return None;
        };
        let user = ordinary_user("postgres");
        let folder = folder("torment-pg-", user);
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

        let port = free_port();
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
        stop(&mut self.server, Signal::INT);
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
