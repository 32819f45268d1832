use rusqlite::ErrorCode;
use std::path::{Path, PathBuf};

/// A store error. Each message ends in what the user can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Neither `XDG_DATA_HOME` nor `HOME` says where to keep runs.
    #[error("neither XDG_DATA_HOME nor HOME names a folder to keep runs in; name a file with --store PATH")]
    NoHome,
    /// The file or its folder cannot be opened or created.
    #[error(
        "cannot open the store {path}: {found}; check the folder's owner and rights, or name another file with --store PATH"
    )]
    Open {
        /// The database.
        path: PathBuf,
        /// The system's message.
        found: String,
    },
    /// The file is not an SQLite database, or a damaged one.
    #[error(
        "the store {path} is not a valid SQLite database ({found}); move it away, or name another file with --store PATH"
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// SQLite's message.
        found: String,
    },
    /// An SQLite database, but of another program.
    #[error(
        "{path} is another program's SQLite database, not a torment store; name another file with --store PATH"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// Written by a newer torment.
    #[error(
        "the store {path} has schema {found}, this torment knows up to {expected}; use the newer torment that wrote it, or \
         another file with --store PATH"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema known here.
        expected: i64,
    },
    /// No room left.
    #[error(
        "no room left for the store {path}; free some (torment rm RUN removes runs), or name a file on another disk with \
         --store PATH"
    )]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// Readable, but not writable.
    #[error(
        "the store {path} can be read but not written; check its owner and rights and those of its folder, or name another \
         file with --store PATH"
    )]
    ReadOnly {
        /// The database.
        path: PathBuf,
    },
    /// Another process held the database for longer than [`crate::open::BUSY`].
    #[error(
        "another process has locked the store {path} for over {} s; wait for it, or name another file with --store PATH",
        crate::open::BUSY.as_secs()
    )]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// No such run.
    #[error("no run '{asked}'{}", expected(*.kept, .near))]
    NoRun {
        /// What was asked for.
        asked: String,
        /// Number of runs.
        kept: u64,
        /// Similar names and ids.
        near: Vec<String>,
    },
    /// Several runs have this prefix.
    #[error("more than one run begins with '{asked}': {}; type more of it", .fits.join(", "))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// Some of the matches.
        fits: Vec<String>,
    },
    /// The run is still being written, so it cannot be removed.
    #[error("run {id} is still running (process {pid}); stop it first, or wait for it to end")]
    Running {
        /// The run.
        id: String,
        /// The writing process.
        pid: u32,
    },
    /// The first event of a recording was not [`record::Event::RunStarted`].
    #[error("a recording must begin with the event run_started; this is a bug in torment")]
    NotStarted,
    /// Any other SQLite error.
    #[error("the store {path} failed: {found}; name another file with --store PATH")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's message.
        found: String,
    },
}

impl Error {
    /// Converts SQLite's error about the database at `path`.
    pub(crate) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, found) = (path.to_owned(), error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::NotADatabase { path, found },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => Self::Open { path, found },
            _ => Self::Sqlite { path, found },
        }
    }
}

/// Suggests what could have been asked for.
fn expected(kept: u64, near: &[String]) -> String {
    if kept == 0 {
        return ": the store is empty; torment find or torment run makes one".to_owned();
    }
    let near = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    format!(
        " among the {kept} kept; {near}expected a name, an id, the start of one, last or last~N; torment list shows them"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn every_message_names_the_file_and_what_to_do() {
        for (code, words) in [
            (ffi::SQLITE_FULL, "no room left"),
            (ffi::SQLITE_READONLY, "read but not written"),
            (ffi::SQLITE_BUSY, "another process"),
            (ffi::SQLITE_CORRUPT, "not a valid SQLite database"),
            (ffi::SQLITE_CANTOPEN, "cannot open"),
            (ffi::SQLITE_IOERR, "failed"),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let message = Error::of(Path::new("/data/t.db"), &error).to_string();
            for expected in [words, "/data/t.db", "; "] {
                assert!(message.contains(expected), "'{expected}' is missing from: {message}");
            }
        }
    }
}
