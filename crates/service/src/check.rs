//! Checks before anything is started.

use crate::{Error, Guard, group, port, postgres, program, ready::ReadyCheck};
use plan::{Dependency, PostgresSetup, Program, ResourceLimits, Setup};
use std::fs::{self, File};
use std::path::Path;

/// The name of databases in messages.
pub const POSTGRES: &str = "postgres";

impl Guard {
    /// Checks, before anything is started, that all the setup names can be: programs and folders exist, ports are
    /// free, limits may be set.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(setup: &Setup) -> Result<(), Error> {
        let mut ports = Vec::new();
        for need in &setup.needs {
            match need {
                Dependency::Postgres(database) => check_postgres(database, &mut ports)?,
                Dependency::Program(program) => check_program(program, &mut ports)?,
            }
        }
        setup.service.iter().try_for_each(|service| check_program(service, &mut ports))
    }
}

fn check_program(program: &Program, ports: &mut Vec<(u16, String)>) -> Result<(), Error> {
    let name = &program.name;
    let folder = program::folder(program)?;
    if !folder.is_dir() {
        let why = if folder.exists() {
            "is a file, and a folder is expected"
        } else {
            "is not there: make it, or correct `folder`"
        };
        return Err(Error::file(name, folder.display(), why));
    }
    program::prepare_spec(program, Path::new("/proc/self/exe"))?;
    // The build may create it.
    match program::launch_spec(program, Path::new("/proc/self/exe")) {
        Err(Error::Start { .. }) if !program.prepare.is_empty() => {}
        other => drop(other?),
    }
    let ready =
        ReadyCheck::from_plan(&program.ready).map_err(|why| Error::start(name, format!("`ready`: {why}")))?;
    if let Some(port) = ready.port() {
        check_free(name, port)?;
        check_port_unique(name, port, ports)?;
    }
    check_limits(name, &program.limits)
}

fn check_postgres(database: &PostgresSetup, ports: &mut Vec<(u16, String)>) -> Result<(), Error> {
    if postgres::programs().is_none() {
        return Err(Error::NoPostgres);
    }
    for file in database.seed.iter().chain(&database.reset) {
        // A folder can be opened, but not read.
        let metadata = File::open(file).and_then(|open| open.metadata());
        match metadata {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(Error::file(POSTGRES, file, "is not a file, and a file of SQL is expected")),
            Err(why) => {
                return Err(Error::file(
                    POSTGRES,
                    file,
                    format!("cannot be read ({why}); a file of SQL is expected"),
                ));
            }
        }
    }
    if let Some(data) = &database.data
        && !fs::metadata(data).is_ok_and(|found| found.is_dir())
    {
        return Err(Error::file(
            POSTGRES,
            data,
            "is not a folder: make it, or leave `data` out for a temporary one",
        ));
    }
    check_free(POSTGRES, database.port)?;
    check_port_unique(POSTGRES, database.port, ports)?;
    check_limits(POSTGRES, &database.limits)
}

/// Checks that nobody listens there.
pub fn check_free(program: &str, port: u16) -> Result<(), Error> {
    port::listeners(port).map_or(Ok(()), |by| {
        Err(Error::PortTaken { program: program.to_owned(), port, by: port::first_listener(by) })
    })
}

/// No two programs of a plan can have the same port.
fn check_port_unique(program: &str, port: u16, ports: &mut Vec<(u16, String)>) -> Result<(), Error> {
    if let Some((_, other)) = ports.iter().find(|(taken, _)| *taken == port) {
        return Err(Error::start(
            program,
            format!("{other} in the same plan uses port {port}: give each its own"),
        ));
    }
    ports.push((port, program.to_owned()));
    Ok(())
}

fn check_limits(program: &str, limits: &ResourceLimits) -> Result<(), Error> {
    let refused = |why: String| Error::Limits { program: program.to_owned(), why };
    sys::check_processors(&limits.cores).map_err(|e| refused(e.to_string()))?;
    if limits.need_group() {
        group::group_parents(limits).map_err(refused)?;
    }
    Ok(())
}
