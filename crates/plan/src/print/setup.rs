//! What a plan starts, as it is read.

use super::Lines;
use super::exact::exact_time;
use crate::{Limits, Need, Postgres, Program, Ready, Reset, Setup, Template};

impl Lines {
    pub(super) fn setup(&mut self, setup: &Setup) {
        for need in &setup.needs {
            match need {
                Need::Postgres(postgres) => self.postgres(postgres),
                Need::Program(program) => {
                    self.section(&format!("[need.{}]", program.name));
                    self.program(program);
                }
            }
        }
        if let Some(service) = &setup.service {
            self.section("[service]");
            self.program(service);
            if setup.reset != Reset::None || setup.postgres().is_some_and(|p| p.reset.is_some()) {
                self.text("reset", setup.reset.name());
            }
        }
    }

    fn program(&mut self, program: &Program) {
        let Program { name: _, prepare, command, folder, env, files, ready, within, stop, grace, limits } =
            program;
        self.texts("prepare", prepare.iter().cloned());
        self.texts("command", command.iter().map(Template::to_string));
        self.text("folder", folder);
        self.named("env", env);
        self.named("files", files);
        self.text("ready", &ready.to_string());
        self.text("within", &exact_time(*within));
        self.text("stop", stop);
        self.text("grace", &exact_time(*grace));
        self.limits(limits);
    }

    fn postgres(&mut self, postgres: &Postgres) {
        let Postgres { port, database, seed, reset, settings, data, within, limits } = postgres;
        self.section("[postgres]");
        self.raw("port", port);
        self.text("database", database);
        self.texts("seed", seed.iter().cloned());
        if let Some(reset) = reset {
            self.text("reset", reset);
        }
        self.named_texts("settings", settings);
        if let Some(data) = data {
            self.text("data", data);
        }
        self.text("within", &exact_time(*within));
        self.limits(limits);
    }

    pub(super) fn limits(&mut self, limits: &Limits) {
        let Limits { cpus, memory, pids, cores } = limits;
        if let Some(cpus) = cpus {
            self.raw("cpus", cpus);
        }
        if let Some(memory) = memory {
            self.raw("memory", memory.0);
        }
        if let Some(pids) = pids {
            self.raw("pids", pids);
        }
        if !cores.is_empty() {
            self.list("cores", cores.iter().map(u32::to_string));
        }
    }

    pub(super) fn named(&mut self, key: &str, pairs: &[(String, Template)]) {
        self.texts(key, pairs.iter().map(|(name, value)| format!("{name}={value}")));
    }

    pub(super) fn named_texts(&mut self, key: &str, pairs: &[(String, String)]) {
        self.texts(key, pairs.iter().map(|(name, value)| format!("{name}={value}")));
    }
}

/// As it is read.
impl std::fmt::Display for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(url) => f.write_str(url),
            Self::Port(port) => write!(f, "port {port}"),
            Self::Log(text) => write!(f, "log {text}"),
            Self::Started => f.write_str("started"),
        }
    }
}
