use crate::Error;
use rusqlite::{Connection, Params, Row, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one process waits for another's transaction. Ours last milliseconds; ten seconds
/// bear a slow disk and the removal of a large run.
pub(crate) const BUSY: Duration = Duration::from_secs(10);

/// "torm" in ASCII: tells our files from other programs' SQLite databases.
const APPLICATION: i64 = 0x746f_726d;

/// Each brings the schema from its index to the next; `user_version` counts those applied.
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

/// All runs kept in one SQLite file.
#[derive(Debug)]
pub struct Store {
    pub(crate) path: PathBuf,
    pub(crate) db: Connection,
}

impl Store {
    /// Opens the file, and makes it and its folder if there are none. Fails with one clear message
    /// if it is no store of torment, of a newer schema, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|e| Error::Open { path: path.to_owned(), found: e.to_string() })?;
        }
        let mut db = Connection::open(path).map_err(|e| Error::of(path, &e))?;
        prepare(&mut db, path)?;
        Ok(Self { path: path.to_owned(), db })
    }

    /// What is read where there is no such file: no run. Nothing is made.
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
    let failed = |e: rusqlite::Error| Error::of(path, &e);
    db.busy_timeout(BUSY).map_err(failed)?;
    db.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    // In one transaction: between two single looks another process may make the tables.
    let look = db.transaction().map_err(failed)?;
    let version = schema(&look, path)?;
    drop(look);
    if version == 0 {
        // Only before the first table: lets a removal give its pages back to the disk.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    enable_wal(db).map_err(failed)?;
    db.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    if version < MIGRATIONS.len() { migrate(db, path) } else { Ok(()) }
}

/// The schema of the file, 0 if it is empty. Fails if it is not ours or too new.
fn schema(db: &Connection, path: &Path) -> Result<usize, Error> {
    let number =
        |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|e| Error::of(path, &e));
    let version = number("PRAGMA user_version")?;
    if number("PRAGMA application_id")? != APPLICATION {
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

/// Turns on the write-ahead log. SQLite does not call its busy handler for this change, so two
/// processes that make the same file at once would fail each other without this loop.
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
    let failed = |e: rusqlite::Error| Error::of(path, &e);
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Asked again under the lock: another process may have been first.
    let done = schema(&change, path)?;
    for sql in &MIGRATIONS[done..] {
        change.execute_batch(sql).map_err(failed)?;
    }
    change.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(failed)?;
    change.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    change.commit().map_err(failed)
}

/// `$XDG_DATA_HOME/torment/torment.db`, or `~/.local/share/torment/torment.db`. Fails if the
/// environment names neither.
pub fn default_path() -> Result<PathBuf, Error> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from);
    data_folder(folder("XDG_DATA_HOME"), folder("HOME"))
        .map(|folder| folder.join("torment/torment.db"))
        .ok_or(Error::NoHome)
}

/// By the XDG base directory specification: a relative `XDG_DATA_HOME` is to be ignored.
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
