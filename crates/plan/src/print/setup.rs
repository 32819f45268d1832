//! What a plan starts, in the syntax of plan files.

use super::TomlWriter;
use crate::{Dependency, Key, PostgresSetup, Program, ReadyCondition, ResetMethod, ResourceLimits, Setup};

impl TomlWriter {
    pub(super) fn setup(&mut self, setup: &Setup) {
        for need in &setup.needs {
            match need {
                Dependency::Postgres(postgres) => self.postgres(postgres),
                Dependency::Program(program) => {
                    self.section(&format!("[need.{}]", program.name));
                    self.program(program);
                }
            }
        }
        if let Some(service) = &setup.service {
            self.section("[service]");
            self.program(service);
            if setup.reset != ResetMethod::None || setup.postgres().is_some_and(|p| p.reset.is_some()) {
                self.put(Key::Reset, setup.reset.name());
            }
        }
    }

    fn program(&mut self, program: &Program) {
        let Program { name: _, prepare, command, folder, env, files, ready, within, stop, grace, limits } =
            program;
        self.put(Key::Prepare, prepare);
        self.put(Key::Program, command);
        self.put(Key::Folder, folder);
        self.put(Key::Env, env);
        self.put(Key::Files, files);
        self.put(Key::Ready, ready.to_string());
        self.put(Key::Within, within);
        self.put(Key::Stop, stop);
        self.put(Key::Grace, grace);
        self.limits(limits);
    }

    fn postgres(&mut self, postgres: &PostgresSetup) {
        let PostgresSetup { port, database, seed, reset, settings, data, within, limits } = postgres;
        self.section("[postgres]");
        self.put(Key::Port, port);
        self.put(Key::DatabaseName, database);
        self.put(Key::SeedFiles, seed);
        self.put(Key::ResetFile, reset);
        self.put(Key::Settings, settings);
        self.put(Key::DataFolder, data);
        self.put(Key::Within, within);
        self.limits(limits);
    }

    pub(super) fn limits(&mut self, limits: &ResourceLimits) {
        let ResourceLimits { cpus, memory, pids, cores } = limits;
        self.put(Key::Cpus, cpus);
        self.put(Key::Memory, memory);
        self.put(Key::Pids, pids);
        self.put(Key::Cores, cores);
    }
}

/// In the syntax of plan files.
impl std::fmt::Display for ReadyCondition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(url) => f.write_str(url),
            Self::Port(port) => write!(f, "port {port}"),
            Self::Log(text) => write!(f, "log {text}"),
            Self::Started => f.write_str("started"),
        }
    }
}
