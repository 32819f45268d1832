//! From a draft to a plan: every value is read, every default filled in, every contradiction found.

use crate::draft::{Draft, Given, Key};
use crate::error::{Error, Place};
use crate::{Arrivals, Ask, Command, Find, Flow, Generator, Load, Objective, Piece, Plan, Request, Stage};
use crate::{StatusRange, Step, Target, Task, Template, form, parse_cores};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use std::path::Path;
use units::{Nanos, Rate, Share};

/// No machine makes more, and due times are whole nanoseconds.
const MAX_RATE: Rate = Rate(100e6);
/// A month; with [`MAX_RATE`] every arrival of it still has a number that a float holds exactly.
const MAX_DURATION: Nanos = Nanos::from_secs(31 * 86_400);
const DEFAULT_DURATION: Nanos = Nanos::from_secs(30);
const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Connections of a closed loop that has only a number of requests.
const DEFAULT_CONNECTIONS: u32 = 50;
/// More descriptors than this no Linux process may have (`fs.nr_open` by default).
const MAX_CONNECTIONS: u32 = 1 << 20;

/// The stages of the articles: a hundredth, a tenth, half, all, and a hold.
const ARTICLE: &str = "30s:1% 30s:10% 30s:50% 30s:100% 60s:100%";

/// Reads a file that the plan names: its bytes, or why not.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, String>;

impl Draft {
    /// Checks everything at once, so that nothing below has to.
    ///
    /// `read` gives the content of a body file; columns of CSV files are read by [`Plan::bind`].
    ///
    /// # Errors
    /// With the first value that cannot be meant, where it was given, and what was expected.
    pub fn check(&self, command: Command, read: ReadFile<'_>) -> Result<Plan, Error> {
        let (target, path) = self.target()?;
        let flows = vec![self.flow(path, read)?];
        let objective: Objective = self.parsed(Key::Goal)?.unwrap_or_default();
        if objective.deadline == Some(Nanos::ZERO) {
            return Err(self.complain(Key::Goal, "an answer takes more than no time"));
        }
        let task = match command {
            Command::Run => Task::Run(self.load()?),
            Command::Find => Task::Find(self.find()?),
        };
        Ok(Plan { target, flows, objective, task, generator: self.generator()? })
    }

    fn target(&self) -> Result<(Target, Template), Error> {
        let url = self.one(Key::Url).ok_or_else(|| {
            Error::whole("no target; expected [target] url = \"http://host:port/path\", \"demo\" or \"null\"")
        })?;
        let (mut target, path) = Target::parse(&url.text).map_err(|e| url.error(e.to_string()))?;
        let insecure = self.one(Key::Insecure).map(Given::flag).transpose()?.unwrap_or(false);
        match (&mut target, self.one(Key::UnixSocket)) {
            (Target::Http(origin), socket) => {
                origin.insecure = insecure;
                origin.unix_socket = socket.map(|given| given.text.clone().into());
                if socket.is_some_and(|given| given.text.is_empty()) {
                    return Err(self.complain(Key::UnixSocket, "expected the path of a socket"));
                }
            }
            (_, None) => {}
            (_, Some(given)) => return Err(given.error("only an http:// or https:// target has a socket")),
        }
        Ok((target, rooted(path, &url.place)))
    }

    fn flow(&self, path: Template, read: ReadFile<'_>) -> Result<Flow, Error> {
        let request = self.request(path, read)?;
        let name = format!("{} {}", request.method, request.path);
        let timeout = self.time(Key::Timeout)?.unwrap_or(DEFAULT_TIMEOUT);
        let step =
            Step { name: name.clone(), think: None, ask: Ask::Http(request), timeout, takes: Vec::new() };
        Ok(Flow { name, weight: 1.0, cookies: false, steps: vec![step] })
    }

    fn request(&self, path: Template, read: ReadFile<'_>) -> Result<Request, Error> {
        let mut headers = Vec::new();
        for given in self.all(Key::Headers) {
            headers.push(header(given)?);
        }
        let (body, content_type) = self.body(read)?;
        if let Some(content_type) = content_type
            && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            headers.push(("Content-Type".to_owned(), Template::literal(content_type)));
        }
        let method = match self.one(Key::Method) {
            Some(given) => method(given)?,
            None if body.is_empty() => "GET".to_owned(),
            None => "POST".to_owned(),
        };
        let mut expect = Vec::new();
        for given in self.all(Key::ExpectStatus) {
            for part in given.text.split(',') {
                expect.push(part.parse().map_err(|e: units::ParseError| given.error(e.to_string()))?);
            }
        }
        if expect.is_empty() {
            expect.push(StatusRange::DEFAULT);
        }
        Ok(Request { method, path, headers, body, expect, checks: Vec::new() })
    }

    /// The body, and the content type that comes with it.
    fn body(&self, read: ReadFile<'_>) -> Result<(Template, Option<&'static str>), Error> {
        let kinds = [Key::Body, Key::BodyFile, Key::BodyBase64, Key::Form];
        let given: Vec<_> = kinds.into_iter().filter_map(|key| Some((key, self.one(key)?))).collect();
        let (key, given) = match given[..] {
            [] => return Ok((Template::default(), None)),
            [one] => one,
            [_, (_, second), ..] => {
                return Err(second.error("a request has one body: give a body, a body file or a form"));
            }
        };
        let template = |bytes: &[u8]| Template::parse_bytes(bytes).map_err(|e| given.error(e.to_string()));
        let body = match key {
            Key::Body => template(given.text.as_bytes())?,
            Key::BodyFile => {
                let bytes = read(&rooted_path(&given.text, &given.place)).map_err(|e| given.error(e))?;
                template(&bytes)?
            }
            Key::BodyBase64 => {
                let bytes = BASE64_STANDARD.decode(given.text.trim());
                template(&bytes.map_err(|e| given.error(format!("this is not base64: {e}")))?)?
            }
            _ => return Ok((self.form()?, Some(form::CONTENT_TYPE))),
        };
        Ok((rooted(body, &given.place), None))
    }

    fn form(&self) -> Result<Template, Error> {
        let mut body = Template::default();
        for given in self.all(Key::Form) {
            let (name, value) =
                given.text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
                    given.error(format!("'{}' is not a form field, name=value", given.text))
                })?;
            let field = form::body([(name, value)]).map_err(|e| given.error(e.to_string()))?;
            if !body.is_empty() {
                body.append(Template::literal("&"));
            }
            body.append(rooted(field, &given.place));
        }
        Ok(body)
    }

    fn load(&self) -> Result<Load, Error> {
        let duration = self.time(Key::Duration)?;
        let requests: Option<u64> =
            self.one(Key::Requests).map(|g| g.whole(1, "a number of requests")).transpose()?;
        let connections: Option<u32> =
            self.one(Key::Connections).map(|g| g.whole(1, "a number of connections")).transpose()?;
        let rate = self.rate(Key::Rate)?;
        let arrivals = self.arrivals()?;
        if rate.is_none() && self.all(Key::Stages).is_empty() {
            if requests.is_none() && connections.is_none() {
                return Err(Error::whole(
                    "how much load? Give --rate 1000 (arrivals a second, whether or not the target keeps up), \
                     or --connections 50 (each waits for its answer); `torment find` looks for the limit itself",
                ));
            }
            if self.one(Key::Arrivals).is_some() {
                return Err(self.complain(Key::Arrivals, "a closed loop plans no arrivals: give a rate"));
            }
            let connections = connections.unwrap_or_else(|| {
                requests.map_or(DEFAULT_CONNECTIONS, |n| u64::from(DEFAULT_CONNECTIONS).min(n) as u32)
            });
            if connections > MAX_CONNECTIONS {
                return Err(self.complain(Key::Connections, format!("expected at most {MAX_CONNECTIONS}")));
            }
            let duration = duration.or(requests.is_none().then_some(DEFAULT_DURATION));
            return Ok(Load::Closed { connections, requests, duration });
        }
        if connections.is_some() {
            let message = "connections make a closed loop, a rate or stages an open one: leave one out (an open \
                           loop opens connections as it needs them, at most --max-connections)";
            return Err(self.complain(Key::Connections, message));
        }
        let stages = match (self.all(Key::Stages), rate) {
            ([], Some(rate)) => {
                if duration.is_some() && requests.is_some() {
                    let message = "a rate with both a duration and a number of requests: leave one out";
                    return Err(self.complain(Key::Requests, message));
                }
                let count = requests.map(|n| Nanos::from_secs_f64(n as f64 / rate.0));
                if count.is_some_and(|time| time > MAX_DURATION) {
                    return Err(self.complain(Key::Requests, "this takes longer than a month at this rate"));
                }
                let duration = duration.or(count).unwrap_or(DEFAULT_DURATION);
                vec![Stage { duration, from: rate, to: rate }]
            }
            (given, rate) => {
                for key in [Key::Duration, Key::Requests] {
                    if self.one(key).is_some() {
                        return Err(
                            self.complain(key, "stages say themselves how long they last: leave this out")
                        );
                    }
                }
                self.stages(given, rate)?
            }
        };
        Ok(Load::Open { stages, arrivals })
    }

    fn stages(&self, given: &[Given], rate: Option<Rate>) -> Result<Vec<Stage>, Error> {
        let (mut stages, mut level, mut percent) = (Vec::new(), Rate::ZERO, false);
        for given in given {
            let text = if given.text.trim() == "article" { ARTICLE } else { &given.text };
            for stage in text.split_whitespace() {
                let error = |e: &dyn std::fmt::Display| given.error(format!("'{stage}' is not a stage: {e}"));
                let (time, to) = stage.split_once(':').ok_or_else(|| {
                    error(&"expected DURATION:RATE or DURATION:PERCENT, such as 30s:500 or 30s:10%")
                })?;
                let duration: Nanos = time.parse().map_err(|e| error(&e))?;
                let to = match (to.strip_suffix('%'), rate) {
                    (None, _) => to.parse().map_err(|e| error(&e))?,
                    (Some(_), None) => return Err(error(&"percent of what? Give a rate too, --rate 1000")),
                    (Some(share), Some(rate)) => {
                        percent = true;
                        let share = share.parse::<f64>().ok().filter(|p| (0.0..=1000.0).contains(p));
                        rate * (share.ok_or_else(|| error(&"expected 0% to 1000%"))? / 100.0)
                    }
                };
                if to > MAX_RATE || duration > MAX_DURATION {
                    return Err(error(&format!("at most {MAX_RATE} and a month are possible")));
                }
                // A stage that takes no time is a jump.
                if duration > Nanos::ZERO {
                    stages.push(Stage { duration, from: level, to });
                }
                level = to;
            }
        }
        if rate.is_some() && !percent {
            return Err(
                self.complain(Key::Rate, "no stage is a percentage of it: leave the rate or the stages out")
            );
        }
        if stages.iter().all(|stage| stage.from == Rate::ZERO && stage.to == Rate::ZERO) {
            return Err(self.complain(
                Key::Stages,
                "these stages offer nothing: expected a rate above 0 in one of them",
            ));
        }
        if stages.iter().fold(Nanos::ZERO, |sum, stage| sum + stage.duration) > MAX_DURATION {
            return Err(self.complain(Key::Stages, "these stages take longer than a month"));
        }
        Ok(stages)
    }

    fn find(&self) -> Result<Find, Error> {
        let careful = self.one(Key::Careful).map(Given::flag).transpose()?.unwrap_or(false);
        let base = if careful { Find::default().careful() } else { Find::default() };
        let max = self.rate(Key::Max)?.unwrap_or(base.max);
        // A maximum below the usual start moves the start.
        let from = self.rate(Key::From)?.unwrap_or(Rate(base.from.0.min(max.0 / 10.0)));
        if from >= max {
            let key = if self.one(Key::From).is_some() { Key::From } else { Key::Max };
            return Err(self.complain(
                key,
                format!("the search from {from} to {max} has no room: from must be below max"),
            ));
        }
        let width: Share = self.parsed(Key::Width)?.unwrap_or(base.width);
        if !(width.0 > 0.0 && width.0 <= 0.5) {
            return Err(self.complain(Key::Width, format!("{width} is not above 0 % and at most 50 %")));
        }
        let trial = self.time(Key::Trial)?;
        // Short or long, a rate is decided by as many trials as by default.
        let scaled = trial.map_or(base.sum, |trial| trial * (base.sum.0 / base.trial.0));
        let trial = trial.unwrap_or(base.trial);
        let sum = self.time(Key::Sum)?.unwrap_or(scaled);
        if sum < trial {
            return Err(self.complain(Key::Sum, format!("{sum} is shorter than one trial of {trial}")));
        }
        let budget = self.time(Key::Budget)?;
        if budget.is_some_and(|budget| budget < trial) {
            return Err(self.complain(
                Key::Budget,
                format!("not enough for one trial of {trial}; give more, or shorten the trial"),
            ));
        }
        Ok(Find { from, max, width, trial, sum, budget, arrivals: self.arrivals()? })
    }

    fn generator(&self) -> Result<Generator, Error> {
        let base = Generator::default();
        let limit = |key, default, most: u32, what| match self.one(key) {
            None => Ok(default),
            Some(given) => match given.whole(1, what)? {
                number if number > most => Err(given.error(format!("expected at most {most}"))),
                number => Ok(number),
            },
        };
        let mut cores = Vec::new();
        for given in self.all(Key::Cores) {
            cores.extend(parse_cores(&given.text).map_err(|e| given.error(e.to_string()))?);
        }
        cores.sort_unstable();
        cores.dedup();
        Ok(Generator {
            connections: limit(
                Key::MaxConnections,
                base.connections,
                MAX_CONNECTIONS,
                "a number of connections",
            )?,
            outstanding: limit(Key::MaxOutstanding, base.outstanding, u32::MAX, "a number of arrivals")?,
            cores,
            lateness: base.lateness,
            seed: self.one(Key::Seed).map(|g| g.whole(0, "a seed")).transpose()?.unwrap_or(base.seed),
        })
    }

    fn parsed<T: std::str::FromStr<Err = units::ParseError>>(&self, key: Key) -> Result<Option<T>, Error> {
        self.one(key).map(Given::parse).transpose()
    }

    /// A time above zero.
    fn time(&self, key: Key) -> Result<Option<Nanos>, Error> {
        let time = self.parsed(key)?;
        match time {
            Some(Nanos::ZERO) => Err(self.complain(key, "expected more than no time, such as 30s")),
            Some(time) if time > MAX_DURATION => Err(self.complain(key, "expected at most a month")),
            time => Ok(time),
        }
    }

    /// A rate above zero.
    fn rate(&self, key: Key) -> Result<Option<Rate>, Error> {
        match self.parsed(key)? {
            Some(Rate::ZERO) => Err(self.complain(key, "expected a rate above 0, such as 1000")),
            Some(rate) if rate > MAX_RATE => Err(self.complain(key, format!("expected at most {MAX_RATE}"))),
            rate => Ok(rate),
        }
    }

    fn arrivals(&self) -> Result<Arrivals, Error> {
        match self.text(Key::Arrivals) {
            None | Some("even") => Ok(Arrivals::Even),
            Some("poisson") => Ok(Arrivals::Poisson),
            Some(other) => {
                Err(self.complain(Key::Arrivals, format!("'{other}' is neither even nor poisson")))
            }
        }
    }

    fn complain(&self, key: Key, message: impl Into<String>) -> Error {
        Error { place: self.one(key).map(|given| given.place.clone()), message: message.into() }
    }
}

/// `Name: value`.
fn header(given: &Given) -> Result<(String, Template), Error> {
    let (name, value) = given
        .text
        .split_once(':')
        .ok_or_else(|| given.error(format!("'{}' is not a header, 'Name: value'", given.text)))?;
    let (name, value) = (name.trim(), value.trim());
    if !is_token(name) {
        return Err(given.error(format!("'{name}' is not the name of a header: letters, digits and '-'")));
    }
    if ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(
            given.error(format!("'{name}' follows from the body and is set by torment: leave it out"))
        );
    }
    if value.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
        return Err(
            given.error(format!("the value of '{name}' holds a line end or another control character"))
        );
    }
    let value = Template::parse(value).map_err(|e| given.error(e.to_string()))?;
    Ok((name.to_owned(), rooted(value, &given.place)))
}

fn method(given: &Given) -> Result<String, Error> {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let method = given.text.trim();
    if let Some(known) = KNOWN.iter().find(|known| known.eq_ignore_ascii_case(method)) {
        return Ok((*known).to_owned());
    }
    if !is_token(method) || method.eq_ignore_ascii_case("CONNECT") {
        return Err(given.error(format!("'{method}' is not a method such as {}", KNOWN.join(", "))));
    }
    Ok(method.to_owned())
}

/// RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A file named in a plan file is looked for next to it.
fn rooted_path(path: &str, place: &Place) -> String {
    match place {
        Place::File { name, .. } => {
            let folder = Path::new(&**name).parent().unwrap_or(Path::new(""));
            folder.join(path).to_string_lossy().into_owned()
        }
        Place::Option(_) => path.to_owned(),
    }
}

fn rooted(mut template: Template, place: &Place) -> Template {
    for piece in &mut template.pieces {
        if let Piece::Column { file, .. } = piece {
            *file = rooted_path(file, place);
        }
    }
    template
}
