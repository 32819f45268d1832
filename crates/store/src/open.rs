use crate::Error;
use rusqlite::{Connection, Params, Row, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Timeout for another process' transaction. Ours take milliseconds; ten seconds allow for a slow disk and the removal of a large run.
pub(crate) const BUSY: Duration = Duration::from_secs(10);

/// "torm" in ASCII: distinguishes our files from other programs' SQLite databases.
const APPLICATION_ID: i64 = 0x746f_726d;

/// Each migrates the schema from its index to the next; `user_version` counts those applied.
const MIGRATIONS: [&str; 8] = [
    include_str!("../migrations/1.sql"),
    include_str!("../migrations/2.sql"),
    include_str!("../migrations/3.sql"),
    include_str!("../migrations/4.sql"),
    include_str!("../migrations/5.sql"),
    include_str!("../migrations/6.sql"),
    include_str!("../migrations/7.sql"),
    include_str!("../migrations/8.sql"),
];

/// All runs, in one SQLite file.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) db: Connection,
}

impl Store {
    /// Opens the file, creating it and its folder if needed. Fails if it is no store of torment, has a newer schema, or is not writable.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|e| Error::Open { path: path.to_owned(), found: e.to_string() })?;
        }
        let mut db = Connection::open(path).map_err(|e| Error::of(path, &e))?;
        prepare(&mut db, path)?;
        Ok(Self { path: path.to_owned(), db })
    }

    /// An empty store for a missing file, for reading. Creates nothing.
    pub fn empty(path: &Path) -> Result<Self, Error> {
        let mut db = Connection::open_in_memory().map_err(|e| Error::of(path, &e))?;
        prepare(&mut db, path)?;
        Ok(Self { path: path.to_owned(), db })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn error(&self, error: &rusqlite::Error) -> Error {
        Error::of(&self.path, error)
    }

    /// All rows of a query.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        each: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let read = || {
            let mut query = self.db.prepare(sql)?;
            query.query_map(params, each)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        read().map_err(|e| self.error(&e))
    }
}

fn prepare(db: &mut Connection, path: &Path) -> Result<(), Error> {
    let to_error = |e: rusqlite::Error| Error::of(path, &e);
    db.busy_timeout(BUSY).map_err(to_error)?;
    db.pragma_update(None, "foreign_keys", true).map_err(to_error)?;
    // In one transaction: between two separate reads another process may create the tables.
    let transaction = db.transaction().map_err(to_error)?;
    let version = schema(&transaction, path)?;
    drop(transaction);
    if version == 0 {
        // Only possible before the first table: lets a removal return its pages to the disk.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(to_error)?;
    }
    enable_wal(db).map_err(to_error)?;
    db.pragma_update(None, "synchronous", "NORMAL").map_err(to_error)?;
    if version < MIGRATIONS.len() { migrate(db, path) } else { Ok(()) }
}

/// The schema version of the file, 0 if it is empty. Fails if it is not ours or too new.
fn schema(db: &Connection, path: &Path) -> Result<usize, Error> {
    let number =
        |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|e| Error::of(path, &e));
    let version = number("PRAGMA user_version")?;
    if number("PRAGMA application_id")? != APPLICATION_ID {
        return if version == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
            Ok(0)
        } else {
            Err(Error::Foreign { path: path.to_owned() })
        };
    }
    match usize::try_from(version) {
        Ok(known) if known <= MIGRATIONS.len() => Ok(known),
        _ => Err(Error::Newer { path: path.to_owned(), found: version, expected: MIGRATIONS.len() as i64 }),
    }
}

/// Enables the write-ahead log. SQLite does not call its busy handler for this change, so two processes that create the same file at once
/// would fail each other without this loop.
fn enable_wal(db: &Connection) -> rusqlite::Result<()> {
    let begin = Instant::now();
    loop {
        match db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Err(e)
                if e.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && begin.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result.map(|_| ()),
        }
    }
}

fn migrate(db: &mut Connection, path: &Path) -> Result<(), Error> {
    let to_error = |e: rusqlite::Error| Error::of(path, &e);
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(to_error)?;
    // Checked again under the lock: another process may have been first.
    let done = schema(&transaction, path)?;
    for sql in &MIGRATIONS[done..] {
        transaction.execute_batch(sql).map_err(to_error)?;
    }
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(to_error)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(to_error)?;
    transaction.commit().map_err(to_error)
}

/// `$XDG_DATA_HOME/torment/torment.db`, or `~/.local/share/torment/torment.db`. Fails if neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn default_path() -> Result<PathBuf, Error> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    data_folder(folder("XDG_DATA_HOME"), folder("HOME"))
        .map(|folder| folder.join("torment/torment.db"))
        .ok_or(Error::NoHome)
}

/// The XDG base directory specification requires ignoring a relative `XDG_DATA_HOME`.
fn data_folder(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    xdg.filter(|f| f.is_absolute())
        .or_else(|| home.filter(|h| h.is_absolute()).map(|h| h.join(".local/share")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_follows_xdg() {
        for (xdg, home, expected) in [
            (Some("/data"), Some("/home/a"), Some("/data")),
            (Some("relative"), Some("/home/a"), Some("/home/a/.local/share")),
            (None, Some("/home/a"), Some("/home/a/.local/share")),
            (Some(""), None, None),
            (None, None, None),
        ] {
            assert_eq!(data_folder(xdg.map(Into::into), home.map(Into::into)), expected.map(Into::into));
        }
    }
}
