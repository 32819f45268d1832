//! The clinic's rows, in SQLite or PostgreSQL, behind one small set of queries.
//!
//! An acknowledged write is a row: `insert_owner` returns only after its commit. With PostgreSQL
//! the commit is as durable as the server is configured (by default, on disk). With SQLite it
//! is in the write-ahead log, handed to the kernel (`synchronous=NORMAL`): it survives the
//! end of the service, even by `kill -9`, but not a power cut.

mod fault_statement;
mod pool;
mod postgresql;
mod seed_rows;
mod sqlite;

use std::path::PathBuf;
use std::str::FromStr;

pub(crate) use fault_statement::DatabaseFault;
pub(crate) use pool::{SessionPool, WAIT_LIMIT};

use crate::Error;

/// Where the clinic keeps its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ClinicDatabase {
    /// SQLite in a temporary folder, removed when the service ends.
    #[default]
    Temporary,
    /// SQLite in this file, created and seeded if missing.
    Sqlite(PathBuf),
    /// PostgreSQL at this URL (`postgres://user@127.0.0.1:5432/clinic`), seeded if empty.
    Postgres(String),
}

/// A `postgres://` URL, or the path of an SQLite file.
impl FromStr for ClinicDatabase {
    type Err = std::convert::Infallible;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_url = text.contains("://");
        Ok(if is_url { Self::Postgres(text.to_owned()) } else { Self::Sqlite(text.into()) })
    }
}

/// An owner of pets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) fields: OwnerFields,
    pub(crate) pets: Vec<Pet>,
}

/// The form fields of an owner, which are also the columns of the table.
pub(crate) const OWNER_FIELDS: [&str; 5] = ["first_name", "last_name", "address", "city", "telephone"];

/// A value for each of [`OWNER_FIELDS`].
pub(crate) type OwnerFields = [String; OWNER_FIELDS.len()];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pet {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) birth_date: String,
    pub(crate) kind: String,
    pub(crate) visits: Vec<Visit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) date: String,
    pub(crate) description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fortune {
    pub(crate) id: i32,
    pub(crate) message: String,
}

/// The database's error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseError(pub(crate) String);

/// The whole chain of an error, since the first link rarely says what is wrong.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// One connection to the database.
pub(crate) trait Session: Send {
    fn owner(&mut self, id: i32) -> Result<Option<Owner>, DatabaseError>;
    /// Commits one new row and returns its id.
    fn insert_owner(&mut self, owner: &OwnerFields) -> Result<i64, DatabaseError>;
    fn count_owners(&mut self) -> Result<i64, DatabaseError>;
    fn fortunes(&mut self) -> Result<Vec<Fortune>, DatabaseError>;
    /// Runs a database fault.
    fn run_fault(&mut self, _: &DatabaseFault) -> Result<(), DatabaseError> {
        Err(DatabaseError("this page wants a PostgreSQL; start with --database postgres://…".to_owned()))
    }
}

/// Creates and seeds the tables if needed, and opens `connections` sessions.
///
/// Fails when the database cannot be reached, or does not let us create our tables.
pub(crate) fn open(
    database: &ClinicDatabase,
    connections: usize,
) -> Result<(SessionPool, Option<tempfile::TempDir>), Error> {
    let (pool, folder) = match database {
        ClinicDatabase::Temporary => {
            let folder = tempfile::Builder::new().prefix("torment-clinic-").tempdir().map_err(|e| {
                Error::Database {
                    place: std::env::temp_dir().display().to_string(),
                    found: format!("cannot make a folder in it: {e}"),
                    advice: "free some space or set TMPDIR to a folder you may write to",
                }
            })?;
            (SessionPool::new(sqlite::open(&folder.path().join("clinic.sqlite"), connections)?), Some(folder))
        }
        ClinicDatabase::Sqlite(path) => (SessionPool::new(sqlite::open(path, connections)?), None),
        ClinicDatabase::Postgres(url) => {
            let pool = SessionPool::new(postgresql::open(url, connections)?);
            (pool.with_unpooled(postgresql::run_unpooled(url)?), None)
        }
    };
    Ok((pool, folder))
}

impl Owner {
    /// Adds one row of a join of pets and visits, ordered by pet.
    fn add(&mut self, pet: Pet, visit: Option<Visit>) {
        if self.pets.last().is_none_or(|last| last.id != pet.id) {
            self.pets.push(pet);
        }
        let last = self.pets.last_mut().expect("just made sure");
        last.visits.extend(visit);
    }
}
