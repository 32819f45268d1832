//! A private PostgreSQL server: created in a temporary folder, stopped and removed when
//! dropped. It touches no server that is already running.

use crate::server::{command, free_port, stop, temp_folder};
use rustix::process::Signal;
use service::postgres::{initdb_arguments, is_ready, ordinary_user, programs, server_arguments};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fmt, fs};

/// On a busy machine the first start takes some seconds.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Why there is no server.
#[derive(Debug)]
pub enum PostgresUnavailable {
    /// It is not installed.
    NotInstalled,
    /// It does not start; its error message.
    Failed(String),
}

impl fmt::Display for PostgresUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled => f.write_str("PostgreSQL is not installed (apt-get install postgresql)"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for PostgresUnavailable {}

/// A running server with an empty database.
pub struct TestPostgres {
    server: Child,
    programs: PathBuf,
    settings: Vec<String>,
    port: u16,
    folder: tempfile::TempDir,
}

impl TestPostgres {
    /// For a test: `None`, with a message, if PostgreSQL is not installed; panics if it is installed
    /// and does not start.
    pub fn start() -> Option<Self> {
        match Self::start_with(&["max_connections=200"]) {
            Ok(server) => Some(server),
            Err(why @ PostgresUnavailable::NotInstalled) => {
                eprintln!("SKIPPED: {why}");
                None
            }
            Err(why) => panic!("{why}"),
        }
    }

    /// Starts a server on a free port of 127.0.0.1, with settings such as `shared_buffers=16MB`.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start_with(settings: &[&str]) -> Result<Self, PostgresUnavailable> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |why: std::io::Error| PostgresUnavailable::Failed(format!("{what}: {why}"))
        };
        let programs = programs().ok_or(PostgresUnavailable::NotInstalled)?;
        let user = ordinary_user("postgres");
        let folder = temp_folder("torment-pg-", user);
        let data = folder.path().join("data");
        let initdb = command(&programs.join("initdb"), user, folder.path())
            .args(initdb_arguments(&data))
            .output()
            .map_err(failed("initdb cannot be run"))?;
        if !initdb.status.success() {
            let stderr = String::from_utf8_lossy(&initdb.stderr);
            return Err(PostgresUnavailable::Failed(format!("initdb failed: {stderr}")));
        }
        let port = free_port();
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let server = serve(&programs, folder.path(), port, &settings)?;
        let mut this = Self { server, programs, settings, port, folder };
        this.wait_until_it_answers()?;
        Ok(this)
    }

    /// Stops the server without waiting for clients.
    pub fn stop(&mut self) {
        stop(&mut self.server, Signal::INT);
    }

    /// Restarts the server after [`TestPostgres::stop`], on the same port with the same data.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self) -> Result<(), PostgresUnavailable> {
        self.server = serve(&self.programs, self.folder.path(), self.port, &self.settings)?;
        self.wait_until_it_answers()
    }

    /// `postgres://postgres@127.0.0.1:PORT/postgres`.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Process ID of the server.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    fn wait_until_it_answers(&mut self) -> Result<(), PostgresUnavailable> {
        let until = Instant::now() + START_PATIENCE;
        let ready = |folder: &Path| {
            is_ready(&folder.join("data"))
                && UnixStream::connect(folder.join(format!(".s.PGSQL.{}", self.port))).is_ok()
        };
        while !ready(self.folder.path()) {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            if self.server.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err(PostgresUnavailable::Failed(format!("PostgreSQL ended at once: {}", log())));
            }
            if Instant::now() > until {
                return Err(PostgresUnavailable::Failed(format!(
                    "PostgreSQL did not start in a minute: {}",
                    log()
                )));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for TestPostgres {
    fn drop(&mut self) {
        // SIGINT is a fast shutdown: clients are disconnected, nothing is lost.
        stop(&mut self.server, Signal::INT);
    }
}

fn serve(
    programs: &Path,
    folder: &Path,
    port: u16,
    settings: &[String],
) -> Result<Child, PostgresUnavailable> {
    let failed = |what: &str, why: std::io::Error| PostgresUnavailable::Failed(format!("{what}: {why}"));
    let log = fs::File::create(folder.join("log")).map_err(|e| failed("its log cannot be written", e))?;
    let mut server = command(&programs.join("postgres"), ordinary_user("postgres"), folder);
    server.args(server_arguments(&folder.join("data"), Some(folder), port, settings));
    let both = log.try_clone().map_err(|e| failed("no descriptor is free", e))?;
    server.stderr(both).stdout(log).spawn().map_err(|e| failed("postgres cannot be run", e))
}
