//! The clinic on SQLite: write-ahead log, so that reads go on beside the single writer.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};

use super::{DatabaseError, Fortune, Owner, OwnerFields, Pet, Session, Visit, error_chain, seed_rows};
use crate::Error;

const TABLES: &str = "
CREATE TABLE types (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE owners (id INTEGER PRIMARY KEY, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
  address TEXT NOT NULL, city TEXT NOT NULL, telephone TEXT NOT NULL);
CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, birth_date TEXT NOT NULL,
  type_id INTEGER NOT NULL REFERENCES types, owner_id INTEGER NOT NULL REFERENCES owners);
CREATE TABLE visits (id INTEGER PRIMARY KEY, pet_id INTEGER NOT NULL REFERENCES pets,
  visit_date TEXT NOT NULL, description TEXT NOT NULL);
CREATE TABLE fortunes (id INTEGER PRIMARY KEY, message TEXT NOT NULL);
CREATE INDEX pets_of_owner ON pets (owner_id);
CREATE INDEX visits_of_pet ON visits (pet_id);
";

/// Our own writers queue on a lock; this is for others, such as a checkpoint by the sqlite3 shell.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

struct SqliteSession {
    connection: Connection,
    /// SQLite takes one writer at a time, and its own waiting sleeps in steps of up to 100 ms.
    /// Waiting here instead wakes the next writer at once.
    write_lock: Arc<Mutex<()>>,
}

/// Opens the file `connections` times; creates and seeds missing tables.
pub(super) fn open(path: &Path, connections: usize) -> Result<Vec<Box<dyn Session>>, Error> {
    let failed = |e: rusqlite::Error| Error::Database {
        place: path.display().to_string(),
        found: error_chain(&e),
        advice: "give a file in a folder you may write to, holding an SQLite database or nothing",
    };
    let mut first = connect(path).map_err(failed)?;
    prepare_tables(&mut first).map_err(failed)?;
    let write_lock = Arc::new(Mutex::new(()));
    let mut all = vec![first];
    for _ in 1..connections {
        all.push(connect(path).map_err(failed)?);
    }
    let session = |connection| -> Box<dyn Session> {
        Box::new(SqliteSession { connection, write_lock: Arc::clone(&write_lock) })
    };
    Ok(all.into_iter().map(session).collect())
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

fn prepare_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    if !transaction.table_exists(None, "owners")? {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(&seed_rows::statements())?;
    }
    transaction.commit()
}

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        Self(error_chain(&error))
    }
}

impl Session for SqliteSession {
    fn owner(&mut self, id: i32) -> Result<Option<Owner>, DatabaseError> {
        let mut query = self.connection.prepare_cached(
            "SELECT first_name, last_name, address, city, telephone FROM owners WHERE id = ?1",
        )?;
        let fields = query
            .query_row([id], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?]))
            .optional()?;
        let Some(fields) = fields else { return Ok(None) };
        let mut query = self.connection.prepare_cached(
            "SELECT p.id, p.name, p.birth_date, t.name, v.visit_date, v.description
             FROM pets p JOIN types t ON t.id = p.type_id LEFT JOIN visits v ON v.pet_id = p.id
             WHERE p.owner_id = ?1 ORDER BY p.id, v.id",
        )?;
        let mut rows = query.query([id])?;
        let mut owner = Owner { fields, pets: Vec::new() };
        while let Some(row) = rows.next()? {
            let pet = Pet {
                id: row.get(0)?,
                name: row.get(1)?,
                birth_date: row.get(2)?,
                kind: row.get(3)?,
                visits: Vec::new(),
            };
            let visit = match row.get(4)? {
                Some(date) => Some(Visit { date, description: row.get(5)? }),
                None => None,
            };
            owner.add(pet, visit);
        }
        Ok(Some(owner))
    }

    fn insert_owner(&mut self, owner: &OwnerFields) -> Result<i64, DatabaseError> {
        let _one_writer = self.write_lock.lock().expect("a write does not panic");
        let mut statement = self.connection.prepare_cached(
            "INSERT INTO owners (first_name, last_name, address, city, telephone) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        Ok(statement.insert(owner.each_ref())?)
    }

    fn count_owners(&mut self) -> Result<i64, DatabaseError> {
        let mut query = self.connection.prepare_cached("SELECT count(*) FROM owners")?;
        Ok(query.query_row([], |row| row.get(0))?)
    }

    fn fortunes(&mut self) -> Result<Vec<Fortune>, DatabaseError> {
        let mut query = self.connection.prepare_cached("SELECT id, message FROM fortunes")?;
        let rows = query.query_map([], |row| Ok(Fortune { id: row.get(0)?, message: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
