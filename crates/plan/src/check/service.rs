//! What a plan starts: the service under test and its dependencies.

use super::{load::MAX_CONNECTIONS, parse_choice};
use crate::draft::{DependencyDraft, Draft, Section, SourceText};
use crate::error::Error;
use crate::placeholder::{NameScope, is_name};
use crate::secret::{hide, is_secret_variable, may_hold_secret, url_secrets};
use crate::url::TargetUrl;
use crate::{
    Dependency, Key, PostgresSetup, Program, ReadyCondition, ResetMethod, ResourceLimits, Setup, Target,
    Template, TemplatePiece,
};
use crate::{data_set, parse_cores};
use std::collections::BTreeSet;
use std::path::{Component, Path};
use units::{Bytes, Nanos};

const DEFAULT_WITHIN: Nanos = Nanos::from_secs(60);
const DEFAULT_GRACE: Nanos = Nanos::from_secs(10);
const DEFAULT_DATABASE: &str = "torment";
/// Signals that ask a program to end.
const STOP_SIGNALS: [&str; 5] = ["TERM", "INT", "QUIT", "HUP", "KILL"];
/// More than any machine has, and a hundredth of one: the order of the kernel's smallest share.
const CPU_RANGE: std::ops::RangeInclusive<f64> = 0.01..=8192.0;
/// No program starts with less.
const MIN_MEMORY: Bytes = Bytes(1 << 20);

impl Draft {
    /// `target` determines the port at which the service is expected.
    pub(super) fn setup(&self, target: &Target) -> Result<Option<Setup>, Error> {
        let mut needs = Vec::new();
        for draft in &self.needs {
            needs.push(match draft {
                DependencyDraft::Postgres(section) => Dependency::Postgres(section.postgres()?),
                DependencyDraft::Program(name, section) => {
                    if !is_name(&name.text) || matches!(name.text.as_str(), "service" | "postgres") {
                        return Err(name.error(format!(
                            "'{}' is not a name for a program: letters, digits, '_' and '-', and neither service \
                             nor postgres",
                            name.text
                        )));
                    }
                    Dependency::Program(section.program(&name.text, || Ok(ReadyCondition::Started))?)
                }
            });
        }
        let service = self.service.as_ref().map(|section| {
            section.program("service", || {
                ready_target(target).ok_or_else(|| {
                    section.error_at(
                        Key::Ready,
                        "when is the service ready? The target has no port that says so; expected ready = \
                         \"http://127.0.0.1:8080/health\", \"port 8080\", \"log TEXT\" or \"started\"",
                    )
                })
            })
        });
        let service = service.transpose()?;
        if needs.is_empty() && service.is_none() {
            return Ok(None);
        }
        let can_reset = needs.iter().any(|need| matches!(need, Dependency::Postgres(p) if p.reset.is_some()));
        let reset = match self.service.as_ref().and_then(|section| section.one(Key::Reset)) {
            Some(given) => {
                let reset = parse_choice(given, &ResetMethod::ALL, ResetMethod::name)?;
                if reset == ResetMethod::Sql && !can_reset {
                    return Err(given.error(
                        "no SQL to restore the state: expected a [postgres] with reset = \"file.sql\"",
                    ));
                }
                reset
            }
            None if can_reset => ResetMethod::Sql,
            None => ResetMethod::None,
        };
        Ok(Some(Setup { needs, service, reset }))
    }
}

/// By default it is ready once it listens where the load goes.
fn ready_target(target: &Target) -> Option<ReadyCondition> {
    match target {
        Target::Http(origin) if origin.unix_socket.is_none() => Some(ReadyCondition::Port(origin.port)),
        Target::Sql(database) if !database.is_socket() => Some(ReadyCondition::Port(database.port)),
        _ => None,
    }
}

impl Section {
    /// `default_ready` is the ready condition that holds unless one is given.
    fn program(
        &self,
        name: &str,
        default_ready: impl FnOnce() -> Result<ReadyCondition, Error>,
    ) -> Result<Program, Error> {
        let prepare = self.all(Key::Prepare).iter().map(parse_prepare);
        let command = self.command()?.ok_or_else(|| self.no_command())?;
        let stop =
            self.one(Key::Stop).map(|given| parse_choice(given, &STOP_SIGNALS, |stop| stop)).transpose()?;
        Ok(Program {
            name: name.to_owned(),
            prepare: prepare.collect::<Result<_, _>>()?,
            command,
            folder: self.folder(),
            env: self.env()?,
            files: self.files()?,
            ready: self.one(Key::Ready).map_or_else(default_ready, parse_ready)?,
            within: self.time(Key::Within)?.unwrap_or(DEFAULT_WITHIN),
            stop: stop.unwrap_or(STOP_SIGNALS[0]).to_owned(),
            grace: self.time(Key::Grace)?.unwrap_or(DEFAULT_GRACE),
            limits: self.limits()?,
        })
    }

    fn postgres(&self) -> Result<PostgresSetup, Error> {
        let port = self.one(Key::Port).ok_or_else(|| {
            self.error_at(Key::Port, "no port for PostgreSQL; expected a free one, such as port = 54329")
        })?;
        let database = match self.one(Key::DatabaseName) {
            None => DEFAULT_DATABASE.to_owned(),
            Some(given) if given.text.trim().is_empty() || given.text.contains(char::is_control) => {
                return Err(given.error("expected the name of a database"));
            }
            Some(given) => given.text.clone(),
        };
        let file = |given: &SourceText| {
            Ok(data_set::resolve_path(given.non_empty("expected the path of a file")?, &given.location))
        };
        Ok(PostgresSetup {
            port: port.port()?,
            database,
            seed: self.all(Key::SeedFiles).iter().map(file).collect::<Result<_, _>>()?,
            reset: self.one(Key::ResetFile).map(file).transpose()?,
            settings: self.settings()?,
            data: self.data_folder()?,
            within: self.time(Key::Within)?.unwrap_or(DEFAULT_WITHIN),
            limits: self.limits()?,
        })
    }

    fn folder(&self) -> String {
        match self.one(Key::Folder).filter(|given| !given.text.trim().is_empty()) {
            Some(given) => data_set::resolve_path(given.text.trim(), &given.location),
            None => {
                let rooted = self.location.as_ref().map(|place| data_set::resolve_path("", place));
                let folder = rooted.as_deref().unwrap_or("").trim_end_matches('/');
                match (folder, rooted.as_deref()) {
                    ("", Some("/")) => "/".to_owned(),
                    ("", _) => ".".to_owned(),
                    _ => folder.to_owned(),
                }
            }
        }
    }

    pub(super) fn command(&self) -> Result<Option<Vec<Template>>, Error> {
        let command = self.texts(Key::Program)?;
        match command.first() {
            None => Ok(None),
            Some(program) if program.is_empty() => Err(self.no_command()),
            Some(_) => Ok(Some(command)),
        }
    }

    fn no_command(&self) -> Error {
        self.error_at(
            Key::Program,
            "no command; expected the program and its arguments, command = [\"java\", \"-jar\", \"app.jar\"]",
        )
    }

    /// Words of a command.
    pub(super) fn texts(&self, key: Key) -> Result<Vec<Template>, Error> {
        self.all(key).iter().map(|given| parse_text(&given.text, given)).collect()
    }

    pub(super) fn env(&self) -> Result<Vec<(String, Template)>, Error> {
        self.named(Key::Env, "an environment variable, NAME=value", |name, value, given| {
            let value = parse_text(value, given)?;
            Ok(if is_secret_variable(name) { hide(value) } else { value })
        })
    }

    pub(super) fn files(&self) -> Result<Vec<(String, Template)>, Error> {
        for given in self.all(Key::Files) {
            let path = Path::new(given.text.split('=').next().unwrap_or(""));
            let is_below =
                path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            if !is_below || path.file_name().is_none() {
                let message =
                    format!("'{}' is not the path of a file below the program's folder", path.display());
                return Err(given.error(message));
            }
        }
        self.named(Key::Files, "a file and its content, path=content", |_, value, given| {
            parse_text(value, given)
        })
    }

    pub(super) fn settings(&self) -> Result<Vec<(String, String)>, Error> {
        let is_letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.');
        self.named(Key::Settings, "a setting, name=value", |name, value, given| {
            if !name.bytes().all(is_letter) || value.contains(char::is_control) {
                return Err(
                    given.error(format!("'{name}' is not a setting such as shared_buffers = \"128MB\""))
                );
            }
            Ok(value.to_owned())
        })
    }

    pub(super) fn data_folder(&self) -> Result<Option<String>, Error> {
        let folder = |given: &SourceText| {
            let path = given.non_empty("expected an existing folder, such as /mnt/fast")?;
            Ok(data_set::resolve_path(path, &given.location))
        };
        self.one(Key::DataFolder).map(folder).transpose()
    }

    /// Names and values, each name once.
    fn named<T>(
        &self,
        key: Key,
        what: &str,
        mut read: impl FnMut(&str, &str, &SourceText) -> Result<T, Error>,
    ) -> Result<Vec<(String, T)>, Error> {
        let mut all: Vec<(String, T)> = Vec::new();
        for given in self.all(key) {
            let (name, value) = given.text.split_once('=').unwrap_or((&given.text, ""));
            if name.trim().is_empty() {
                return Err(given.error(format!("no name; expected {what}")));
            }
            if all.iter().any(|(known, _)| known == name) {
                return Err(given.error(format!("'{name}' is given twice")));
            }
            check_no_nul(given)?;
            all.push((name.to_owned(), read(name, value, given)?));
        }
        Ok(all)
    }

    pub(super) fn limits(&self) -> Result<ResourceLimits, Error> {
        let memory = self.parsed::<Bytes>(Key::Memory)?;
        if memory.is_some_and(|memory| memory < MIN_MEMORY) {
            return Err(self.error_at(Key::Memory, format!("no program starts in less than {MIN_MEMORY}")));
        }
        Ok(ResourceLimits {
            cpus: self.one(Key::Cpus).map(parse_cpus).transpose()?,
            memory,
            pids: self.whole(Key::Pids, 1, "a number of processes")?,
            cores: self.cores()?,
        })
    }

    /// Sorted, each once.
    pub(super) fn cores(&self) -> Result<Vec<u32>, Error> {
        let mut cores = BTreeSet::new();
        for given in self.all(Key::Cores) {
            cores.extend(parse_cores(&given.text).map_err(|e| given.error(e.to_string()))?);
        }
        Ok(cores.into_iter().collect())
    }
}

impl SourceText {
    fn port(&self) -> Result<u16, Error> {
        self.parse_whole(1, "a port")
            .map_err(|_| self.error(format!("'{}' is not a port, 1 to 65535", self.text)))
    }

    pub(super) fn connections(&self, text: &str) -> Result<u32, Error> {
        self.part(text).parse_count(MAX_CONNECTIONS, "a number of connections")
    }
}

/// The system ends strings at a NUL.
fn check_no_nul(given: &SourceText) -> Result<(), Error> {
    if given.text.contains('\0') {
        return Err(given.error("no program can be given a NUL character"));
    }
    Ok(())
}

/// A word of the `prepare` command, kept as written.
fn parse_prepare(given: &SourceText) -> Result<String, Error> {
    let has_secret = ["{env:", "{secret:", "{redacted}"].iter().any(|begin| given.text.contains(begin));
    if has_secret || may_hold_secret(&given.text) && !url_secrets(&given.text).is_empty() {
        return Err(given.error(
            "prepare is stored as written, and takes no placeholders: let it read an environment variable",
        ));
    }
    check_no_nul(given)?;
    Ok(given.text.clone())
}

/// Text for a program: only `{env:NAME}` and `{secret:FILE}` are placeholders in it, and secrets in URLs are hidden.
fn parse_text(text: &str, given: &SourceText) -> Result<Template, Error> {
    check_no_nul(given)?;
    let parse = |text: &str| Template::parse(text).map_err(|e| given.error(e.to_string()));
    let mut whole = Template::default();
    let mut at = 0;
    let mut spans = if may_hold_secret(text) { url_secrets(text) } else { Vec::new() };
    spans.sort_by_key(|span| span.start);
    for span in spans {
        let start = span.start.max(at);
        if span.end > start {
            whole.append(parse(&text[at..start])?);
            whole.append(hide(parse(&text[start..span.end])?));
            at = span.end;
        }
    }
    whole.append(parse(&text[at..])?);
    let mut template = Template::default();
    for piece in whole.pieces {
        match piece {
            TemplatePiece::Secret { .. } => template.pieces.push(piece),
            other => template.append(Template::literal(other.to_string())),
        }
    }
    template.resolve_paths(&given.location);
    Ok(template)
}

fn parse_cpus(given: &SourceText) -> Result<f64, Error> {
    let cpus = given.text.trim().parse::<f64>().ok().filter(|cpus| CPU_RANGE.contains(cpus));
    cpus.ok_or_else(|| {
        given.error(format!("'{}' is not a number of processors such as 2 or 0.5, from 0.01 on", given.text))
    })
}

fn parse_ready(given: &SourceText) -> Result<ReadyCondition, Error> {
    let text = given.text.trim();
    if text == "started" {
        return Ok(ReadyCondition::Started);
    }
    if let Some(port) = text.strip_prefix("port ") {
        return Ok(ReadyCondition::Port(given.part(port.trim()).port()?));
    }
    if let Some(line) = text.strip_prefix("log ").map(str::trim).filter(|line| !line.is_empty()) {
        return Ok(ReadyCondition::Log(line.to_owned()));
    }
    if text.starts_with("http://") {
        let address = TargetUrl::parse(text, &NameScope::default()).map_err(|e| given.error(e))?;
        if !address.path.is_constant() || !url_secrets(text).is_empty() {
            return Err(given.error("expected a URL without placeholders and without a password"));
        }
        return Ok(ReadyCondition::Http(text.to_owned()));
    }
    Err(given.error(
        "this does not say when it is ready: expected \"http://127.0.0.1:8080/health\" (answered with a status below \
         400), \"port 8080\", \"log TEXT\" (a line of its output contains it) or \"started\"",
    ))
}
