//! Starts what a plan names, each program once the one before is ready.

use crate::check::{POSTGRES, check_free};
use crate::guard_protocol::LaunchSpec;
use crate::handle::Guard;
use crate::ready::ReadyCheck;
use crate::{Error, database, port, postgres, process_tree, program};
use plan::{Dependency, PostgresSetup, Program, Setup};
use std::path::Path;
use std::time::{Duration, Instant};
use units::Nanos;

/// Between the first two readiness checks; later ones are further apart.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// Maximum between two: later measurements do not depend on it.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A wait for readiness: for how long, and when to give up.
struct ReadyWait<'a> {
    stop: &'a dyn Fn() -> bool,
    since: Instant,
    within: Nanos,
}

impl ReadyWait<'_> {
    fn is_over(&self) -> bool {
        self.since.elapsed() > self.within.to_duration()
    }
}

impl Guard {
    /// Builds the programs: runs each `prepare` to its end, each command in each folder once in this guard's
    /// lifetime.
    ///
    /// # Errors
    /// If one fails, or `stop` returns true.
    pub fn prepare(&mut self, setup: &Setup, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let needs = setup.needs.iter().filter_map(|need| match need {
            Dependency::Program(program) => Some(program),
            Dependency::Postgres(_) => None,
        });
        for program in needs.chain(&setup.service) {
            let build = (program.prepare.clone(), program.folder.clone());
            if self.prepared.contains(&build) {
                continue;
            }
            if let Some(spec) = program::prepare_spec(program, &self.program)? {
                let wait = ReadyWait { stop, since: Instant::now(), within: Nanos::MAX };
                if let Err(why) = self.run_to_end(spec, &program.prepare.join(" "), &wait) {
                    self.end();
                    return Err(why);
                }
                self.prepared.push(build);
            }
        }
        Ok(())
    }

    /// Starts the dependencies and then the service, each once the one before is ready. Returns how long the service
    /// itself took or, without one, all dependencies.
    ///
    /// # Errors
    /// If something does not start, ends, or is not ready in time, or `stop` returns true. What was started is then
    /// stopped again; [`Guard::down`] still returns the logs.
    pub fn up(&mut self, setup: &Setup, stop: &dyn Fn() -> bool) -> Result<Nanos, Error> {
        let done = self.start_all(setup, stop);
        if done.is_err() {
            self.end();
        }
        done
    }

    /// Runs each database's `reset` file.
    ///
    /// # Errors
    /// If a server rejects it.
    pub fn reset(&mut self, setup: &Setup) -> Result<(), Error> {
        for need in &setup.needs {
            if let Dependency::Postgres(plan) = need
                && let Some(file) = &plan.reset
            {
                database::run_sql(plan, file, &mut || self.take_end_error())?;
            }
        }
        Ok(())
    }

    fn start_all(&mut self, setup: &Setup, stop: &dyn Fn() -> bool) -> Result<Nanos, Error> {
        let began = Instant::now();
        for need in &setup.needs {
            match need {
                Dependency::Postgres(database) => self.start_postgres(database, stop)?,
                Dependency::Program(program) => drop(self.start_program(program, stop)?),
            }
        }
        match &setup.service {
            Some(service) => self.start_program(service, stop),
            None => Ok(began.elapsed().into()),
        }
    }

    /// Returns the time until it was ready.
    fn start_program(&mut self, program: &Program, stop: &dyn Fn() -> bool) -> Result<Nanos, Error> {
        let name = program.name.as_str();
        let ready = ReadyCheck::from_plan(&program.ready)
            .map_err(|why| Error::start(name, format!("`ready`: {why}")))?;
        if let Some(port) = ready.port() {
            check_free(name, port)?;
        }
        let spec = program::launch_spec(program, &self.program)?;
        let wait = ReadyWait { stop, since: Instant::now(), within: program.within };
        self.launch(spec)?;
        self.wait_until(name, &wait, &mut |guard| match &ready {
            ReadyCheck::Log(_) if guard.has_printed(name) => Ok(()),
            other => other.check(),
        })?;
        let took = wait.since.elapsed().into();
        ready.port().map_or(Ok(()), |port| self.check_own_listener(name, port))?;
        Ok(took)
    }

    /// Checks that the port's listener is what was started.
    fn check_own_listener(&self, program: &str, port: u16) -> Result<(), Error> {
        let listeners = port::listeners(port).unwrap_or_default();
        // The listener may be invisible, as in another network namespace: then this cannot be checked.
        if listeners.is_empty()
            || listeners.iter().any(|listener| process_tree::is_descendant(listener.pid, self.pid))
        {
            return Ok(());
        }
        Err(Error::PortTaken { program: program.to_owned(), port, by: port::first_listener(listeners) })
    }

    /// Repeats the check until it succeeds. Any program's end ends the wait.
    fn wait_until(
        &mut self,
        name: &str,
        wait: &ReadyWait<'_>,
        ready: &mut dyn FnMut(&Self) -> Result<(), String>,
    ) -> Result<(), Error> {
        let mut pause = FIRST_PAUSE;
        loop {
            self.receive(Duration::ZERO)?;
            if let Some(end) = self.take_end() {
                return Err(end.into());
            }
            if (wait.stop)() {
                return Err(Error::Interrupted);
            }
            let Err(awaited) = ready(self) else { return Ok(()) };
            if wait.is_over() {
                let last = self.last_lines(name);
                return Err(Error::NotReady { program: name.to_owned(), awaited, within: wait.within, last });
            }
            self.receive(pause)?;
            pause = (pause * 5 / 4).min(LONGEST_PAUSE);
        }
    }

    /// Runs something that has to succeed.
    fn run_to_end(&mut self, spec: LaunchSpec, command: &str, wait: &ReadyWait<'_>) -> Result<(), Error> {
        let name = spec.name.clone();
        self.launch(spec)?;
        loop {
            self.receive(LONGEST_PAUSE)?;
            match self.take_end() {
                Some(end) if end.name != name => return Err(end.into()),
                Some(end) if end.well => return Ok(()),
                Some(end) => {
                    let command = command.to_owned();
                    return Err(Error::Prepare {
                        program: name,
                        command,
                        status: end.status,
                        last: end.last,
                    });
                }
                None if (wait.stop)() => return Err(Error::Interrupted),
                None if wait.is_over() => {
                    let last = self.last_lines(&name);
                    let awaited = format!("'{command}' has not ended");
                    return Err(Error::NotReady { program: name, awaited, within: wait.within, last });
                }
                None => {}
            }
        }
    }

    /// From an empty folder to a seeded database.
    fn start_postgres(&mut self, setup: &PostgresSetup, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let wait = ReadyWait { stop, since: Instant::now(), within: setup.within };
        check_free(POSTGRES, setup.port)?;
        let programs = postgres::programs().ok_or(Error::NoPostgres)?;
        let user = postgres::ordinary_user("postgres");
        let within = setup.data.as_ref().map(std::path::absolute).transpose();
        let within =
            within.map_err(|e| Error::file(POSTGRES, setup.data.as_deref().unwrap_or_default(), e))?;
        let folder = self.folder(POSTGRES, within, user)?;
        let data = folder.join("data");
        let start = |program: &str, arguments: Vec<std::ffi::OsString>| {
            let program = programs.join(program);
            let words = std::iter::once(program.clone().into()).chain(arguments).collect();
            LaunchSpec {
                user,
                // Ends at once and leaves no shared memory; the folder's content is removed anyway.
                stop: "QUIT".to_owned(),
                death: "QUIT".to_owned(),
                grace: Nanos::from_secs(10),
                ..LaunchSpec::task(POSTGRES, program, words, folder.clone())
            }
        };
        let initdb = start("initdb", postgres::initdb_arguments(&data));
        self.run_to_end(initdb, "initdb", &wait)?;
        let settings = setup.settings.iter().map(|(name, value)| format!("{name}={value}"));
        let arguments = postgres::server_arguments(&data, None, setup.port, settings);
        self.launch(LaunchSpec {
            limits: setup.limits.clone(),
            task: false,
            ..start("postgres", arguments)
        })?;
        self.wait_until(POSTGRES, &wait, &mut |_| is_ready(&data))?;
        self.check_own_listener(POSTGRES, setup.port)?;
        database::create(setup)
            .map_err(|why| Error::start(POSTGRES, format!("database '{}': {why}", setup.database)))?;
        for file in &setup.seed {
            database::run_sql(setup, file, &mut || self.stop_reason(file, &wait))?;
        }
        Ok(())
    }

    /// A reason to stop running an SQL file.
    fn stop_reason(&mut self, file: &str, wait: &ReadyWait<'_>) -> Option<Error> {
        if let Some(why) = self.take_end_error() {
            return Some(why);
        }
        if (wait.stop)() {
            return Some(Error::Interrupted);
        }
        wait.is_over().then(|| {
            let why = format!(
                "it, with all before it, takes longer than {}: allow more time with `within`",
                wait.within
            );
            Error::Sql { file: file.to_owned(), line: None, why }
        })
    }
}

fn is_ready(data: &Path) -> Result<(), String> {
    postgres::is_ready(data).then_some(()).ok_or_else(|| "it does not take connections yet".to_owned())
}
