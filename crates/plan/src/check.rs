//! From a draft to a plan: parses every value, fills in every default, finds every contradiction.

mod answer;
mod experiment;
mod fleet;
mod flow;
mod hypothesis;
mod load;
mod measurements;
mod request;
mod service;
mod variant;
mod watch;

pub use answer::is_token;
pub(crate) use flow::default_name;

use crate::draft::{Draft, SourceText};
use crate::error::{Error, advice};
use crate::placeholder::{NameScope, is_name};
use crate::url::TargetUrl;
use crate::{
    DataSet, DatabaseAddress, Generator, HttpVersion, Key, Load, Objective, Origin, Plan, PlanCommand,
    RowOrder,
};
use crate::{Target, Task, data_set};
use load::MAX_CONNECTIONS;
use units::Nanos;

/// Default connections to a database: what pools commonly have.
const DEFAULT_POOL: u32 = 16;
/// Stream ids have 31 bits (RFC 9113, 5.1.1); a client has every second one.
const MAX_STREAMS: u32 = 1 << 30;
/// With requests up to a second late there is no schedule any more.
const MAX_LATENESS: Nanos = Nanos::from_secs(1);

/// Reads a file named in the plan: its bytes, or why not.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

impl Draft {
    /// Checks everything at once, so that nothing below has to.
    ///
    /// `read` returns the content of a body file; data and secrets are read by [`Plan::bind`].
    ///
    /// # Errors
    /// The first invalid value: where it was given, and what was expected.
    pub fn check(&self, command: PlanCommand, read: ReadFile<'_>) -> Result<Plan, Error> {
        let data = self.data_sets()?;
        let address = self.address(&NameScope { data: &data, ..NameScope::default() })?;
        let flows = self.flows(&address, &data, read)?;
        let objective: Objective = self.top.parsed(Key::Goal)?.unwrap_or_default();
        if objective.deadline == Some(Nanos::ZERO) {
            return Err(self
                .top
                .error_at(Key::Goal, "expected a deadline above 0: every answer takes some time"));
        }
        let pool = self.pool(&address.target)?;
        let setup = self.setup(&address.target)?;
        // Mistakes in the experiment are reported now, not only when it is tried.
        if command != PlanCommand::Try && !self.variants.is_empty() {
            self.experiment(&flows, setup.as_ref())?;
        }
        let task = match command {
            PlanCommand::Run => Task::Run(self.top.load(pool)?),
            PlanCommand::Find => Task::Find(self.top.find()?),
            PlanCommand::Try => Task::Try(Box::new(self.experiment(&flows, setup.as_ref())?)),
        };
        let generator = self.generator(pool, &task)?;
        let watch = self.watch(&address.target)?;
        let fleet = self.fleet(&address.target, &task, &watch)?;
        Ok(Plan { target: address.target, data, flows, objective, task, generator, fleet, watch, setup })
    }

    fn data_sets(&self) -> Result<Vec<DataSet>, Error> {
        let mut sets = Vec::new();
        for (name, section) in &self.data {
            if !is_name(&name.text) {
                return Err(name.error(format!(
                    "'{}' is not the name of a data set: letters, digits, '_' and '-'",
                    name.text
                )));
            }
            let file = section.one(Key::DataFile).filter(|file| !file.text.is_empty());
            let file = file.ok_or_else(|| {
                name.error(format!("no file for '{}'; expected file = \"{0}.csv\"", name.text))
            })?;
            let order = match section.one(Key::Order) {
                None => RowOrder::default(),
                Some(given) => parse_choice(given, &RowOrder::ALL, RowOrder::name)?,
            };
            sets.push(DataSet {
                name: name.text.clone(),
                file: data_set::resolve_path(&file.text, &file.location),
                order,
            });
        }
        Ok(sets)
    }

    fn address(&self, names: &NameScope<'_>) -> Result<TargetUrl, Error> {
        let url = self.top.one(Key::Url).ok_or_else(|| {
            Error::new(
                "no target; expected [target] url = \"http://host:port/path\", \"postgres://user@host/name\", \
                 \"demo\" or \"null\"",
            )
        })?;
        let mut address = TargetUrl::parse(&url.text, names).map_err(|e| url.error(e))?;
        address.path.resolve_paths(&url.location);
        if let Some(basic) = &mut address.basic {
            basic.resolve_paths(&url.location);
        }
        match &mut address.target {
            Target::Http(origin) => self.origin(origin)?,
            Target::Sql(database) => self.database(database, &url.location)?,
            Target::Demo | Target::Null => {
                self.refuse_http_keys(&[Key::UnixSocket, Key::Streams])?;
                if self.http()? == HttpVersion::Two {
                    let message =
                        "only an http:// or https:// target speaks HTTP/2; the built-in service does not";
                    return Err(self.top.error_at(Key::Http, message));
                }
            }
        }
        Ok(address)
    }

    fn origin(&self, origin: &mut Origin) -> Result<(), Error> {
        origin.insecure = self.top.flag(Key::Insecure)?.unwrap_or(false);
        let socket = self.top.one(Key::UnixSocket);
        origin.unix_socket = socket.map(|given| given.text.clone().into());
        if let Some(given) = socket.filter(|given| given.text.is_empty()) {
            return Err(given.error("expected the path of a socket"));
        }
        origin.http = self.http()?;
        if let Some(given) = self.top.one(Key::Streams) {
            if origin.http == HttpVersion::One {
                return Err(given.error("HTTP/1.1 has no streams: leave them out, or say --http2"));
            }
            origin.streams = given.parse_count(MAX_STREAMS, "a number of streams")?;
        }
        Ok(())
    }

    fn http(&self) -> Result<HttpVersion, Error> {
        match self.top.one(Key::Http) {
            None => Ok(HttpVersion::Either),
            Some(given) => match given.text.as_str() {
                "1" | "1.1" => Ok(HttpVersion::One),
                "2" => Ok(HttpVersion::Two),
                other => Err(given.error(format!("'{other}' is not a version of HTTP, \"1\" or \"2\""))),
            },
        }
    }

    fn database(
        &self,
        database: &mut DatabaseAddress,
        location: &crate::SourceLocation,
    ) -> Result<(), Error> {
        if let Some(password) = &mut database.password {
            password.resolve_paths(location);
        }
        self.refuse_http_keys(&[Key::Http, Key::Streams, Key::Basic, Key::Bearer, Key::Headers])?;
        if let Some(given) = self.top.one(Key::UnixSocket) {
            return Err(given.error(
                "a database's socket goes in its URL, as a folder: postgres://me@%2Frun%2Fpostgresql/db",
            ));
        }
        if self.top.flag(Key::Insecure)?.unwrap_or(false) {
            database.insecure = database.tls;
        }
        Ok(())
    }

    /// For a target that is no HTTP service.
    fn refuse_http_keys(&self, keys: &[Key]) -> Result<(), Error> {
        let Some(key) = keys.iter().copied().find(|key| self.top.has(*key)) else { return Ok(()) };
        let what = match key {
            Key::UnixSocket => "a socket",
            Key::Streams => "streams",
            Key::Http => "a version of HTTP",
            Key::Headers => "headers",
            _ => "credentials such as these",
        };
        Err(self.top.error_at(key, format!("only an http:// or https:// target has {what}")))
    }

    /// Number of connections to a database.
    fn pool(&self, target: &Target) -> Result<Option<u32>, Error> {
        let (pool, max_connections) = (self.top.one(Key::Pool), self.top.one(Key::MaxConnections));
        let count = |given: &SourceText| given.parse_count(MAX_CONNECTIONS, "a number of connections");
        match (target, pool, max_connections) {
            (Target::Sql(_), Some(pool), Some(_)) => {
                Err(pool.error("the pool is the number of connections: leave out the most connections"))
            }
            (Target::Sql(_), Some(given), None) | (Target::Sql(_), None, Some(given)) => {
                count(given).map(Some)
            }
            (Target::Sql(_), None, None) => Ok(Some(DEFAULT_POOL)),
            (_, Some(pool), _) => {
                Err(pool.error("only a postgres:// target has a pool: give the most connections instead"))
            }
            (_, None, _) => Ok(None),
        }
    }

    fn generator(&self, pool: Option<u32>, task: &Task) -> Result<Generator, Error> {
        let (base, top) = (Generator::default(), &self.top);
        let connections = match (pool, top.one(Key::MaxConnections), task) {
            // A closed loop has the connections it names.
            (Some(pool), _, Task::Run(Load::Closed { connections, .. })) => pool.max(*connections),
            (Some(pool), ..) => pool,
            (None, Some(given), _) => given.parse_count(MAX_CONNECTIONS, "a number of connections")?,
            (None, None, _) => base.connections,
        };
        let lateness = top.parsed(Key::Lateness)?.unwrap_or(base.lateness);
        if lateness > MAX_LATENESS {
            return Err(
                top.invalid_value(Key::Lateness, &format!("too long; expected at most {MAX_LATENESS}"))
            );
        }
        Ok(Generator {
            connections,
            outstanding: top
                .count(Key::MaxOutstanding, u32::MAX, "a number of arrivals")?
                .unwrap_or(base.outstanding),
            cores: top.cores()?,
            lateness,
            resend: top.flag(Key::Resend)?.unwrap_or(base.resend),
            seed: top.whole(Key::Seed, 0, "a seed")?.unwrap_or(base.seed),
        })
    }
}

fn parse_choice<T: Copy>(
    given: &SourceText,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<T, Error> {
    if let Some(found) = all.iter().find(|one| name(**one) == given.text) {
        return Ok(*found);
    }
    let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
    let advice = advice(&given.text, &names);
    Err(given.error(format!("'{}' is not known here; {advice}", given.text)))
}
