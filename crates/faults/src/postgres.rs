//! A case's own PostgreSQL, started like one that a plan names: by a guard, with which it ends.

use crate::CaseError;
use ::service::{Error, Guard};
use plan::{Dependency, ResetMethod, ResourceLimits, Setup};
use runner::StopFlag;
use rustix::fs::{Advice, fadvise};
use std::net::TcpListener;
use std::path::PathBuf;
use std::{fs, io};
use units::Nanos;

/// On a busy machine the first start takes some seconds.
const START_PATIENCE: Nanos = Nanos::from_secs(60);

/// A server with an empty database; it ends, and its folder is removed, when this is dropped.
pub(crate) struct CasePostgres {
    _guard: Guard,
    /// Process ID of the server.
    pub(crate) pid: u32,
    /// `postgres://postgres@127.0.0.1:PORT/postgres`.
    pub(crate) url: String,
}

impl CasePostgres {
    /// Starts a server on a free port of 127.0.0.1, with settings such as `shared_buffers=16MB`.
    pub(crate) fn start(settings: &[&str], stop: &StopFlag) -> Result<Self, CaseError> {
        let what = "PostgreSQL";
        // Freed at once: another process could take it, which the start would then report.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.map_err(CaseError::fail(what))?.port();
        let settings = settings.iter().filter_map(|setting| setting.split_once('='));
        let server = plan::PostgresSetup {
            port,
            database: "postgres".to_owned(),
            seed: Vec::new(),
            reset: None,
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            data: None,
            within: START_PATIENCE,
            limits: ResourceLimits::default(),
        };
        let setup =
            Setup { needs: vec![Dependency::Postgres(server)], service: None, reset: ResetMethod::None };
        let program =
            std::env::current_exe().map_err(CaseError::fail("this program cannot be found again"))?;
        let mut guard = Guard::start(&program).map_err(CaseError::fail(what))?;
        guard.up(&setup, &|| stop.is_requested()).map_err(|why| match why {
            Error::NoPostgres => CaseError::Skip(why.to_string()),
            _ => CaseError::Fail(why.to_string()),
        })?;
        let (_, pid) = guard.pids().pop().ok_or_else(|| CaseError::Fail(format!("{what} has ended")))?;
        Ok(Self { _guard: guard, pid, url: format!("postgres://postgres@127.0.0.1:{port}/postgres") })
    }

    /// Drops the tables from the page cache, so that they are only on disk.
    ///
    /// # Errors
    /// If the server's files cannot be opened.
    pub(crate) fn drop_cached_pages(&self) -> io::Result<()> {
        // The server's working directory is its data folder.
        let mut folders = vec![PathBuf::from(format!("/proc/{}/cwd/base", self.pid))];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)?.flatten() {
                if entry.file_type()?.is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                // The server may have removed it meanwhile.
                let Ok(file) = fs::File::open(entry.path()) else { continue };
                // Dirty pages cannot be dropped.
                file.sync_all()?;
                fadvise(&file, 0, None, Advice::DontNeed)?;
            }
        }
        Ok(())
    }
}
