//! A plan's database from its administrator's view: created, seeded, reset.

use crate::Error;
use ::postgres::config::Config;
use ::postgres::error::ErrorPosition;
use ::postgres::{Client, NoTls};
use plan::PostgresSetup;
use std::fs;
use std::time::Duration;

/// Timeout of a connection to this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two checks whether to cancel.
const PAUSE: Duration = Duration::from_millis(20);

/// To the database of this name, as its administrator.
fn connect(port: u16, name: &str) -> Result<Client, String> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user("postgres").dbname(name).connect_timeout(CONNECT_TIMEOUT);
    config.connect(NoTls).map_err(|e| describe_error(&e))
}

/// Creates the setup's database.
pub fn create(setup: &PostgresSetup) -> Result<(), String> {
    // This one always exists.
    if setup.database == "postgres" {
        return Ok(());
    }
    let name = setup.database.replace('"', "\"\"");
    let made = connect(setup.port, "postgres")?.batch_execute(&format!("CREATE DATABASE \"{name}\""));
    made.map_err(|e| describe_error(&e))
}

/// Runs an SQL file in the setup's database, until `stop_reason` returns a reason to stop.
pub fn run_sql(
    setup: &PostgresSetup,
    file: &str,
    stop_reason: &mut dyn FnMut() -> Option<Error>,
) -> Result<(), Error> {
    let sql_error = |why: String| Error::Sql { file: file.to_owned(), line: None, why };
    let sql = fs::read_to_string(file).map_err(|e| sql_error(format!("cannot be read as text: {e}")))?;
    let mut client = connect(setup.port, &setup.database).map_err(sql_error)?;
    let cancel = client.cancel_token();
    let done = std::thread::scope(|scope| {
        let running = scope.spawn(|| client.batch_execute(&sql));
        let mut why = None;
        while !running.is_finished() {
            if why.is_none() {
                why = stop_reason();
            }
            if why.is_some() {
                // Repeatedly: the server forgets it between two statements.
                let _ = cancel.cancel_query(NoTls);
            }
            std::thread::sleep(PAUSE);
        }
        let done = running.join().map_err(|_| sql_error("the client gave up".to_owned()))?;
        why.map_or(Ok(done), Err)
    })?;
    done.map_err(|e| {
        let line = e.as_db_error().and_then(|e| e.position()).and_then(|position| match position {
            ErrorPosition::Original(at) => Some(line(&sql, *at as usize)),
            ErrorPosition::Internal { .. } => None,
        });
        Error::Sql { file: file.to_owned(), line, why: describe_error(&e) }
    })
}

/// The line of a character; both count from 1.
fn line(sql: &str, at: usize) -> usize {
    sql.chars().take(at.saturating_sub(1)).filter(|c| *c == '\n').count() + 1
}

/// The server's message, or why it cannot be reached.
fn describe_error(error: &::postgres::Error) -> String {
    let Some(db_error) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map(|cause| format!(" ({cause})")).unwrap_or_default();
        return format!("{error}{cause}");
    };
    let more = [db_error.detail(), db_error.hint()].into_iter().flatten().map(|more| format!("; {more}"));
    format!("{} ({}){}", db_error.message(), db_error.code().code(), more.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_in_characters() {
        let sql = "SELECT 'ü';\nSELEC 2;\n";
        assert_eq!([0, 1, 12, 13, 100].map(|at| line(sql, at)), [1, 1, 1, 2, 3]);
    }
}
