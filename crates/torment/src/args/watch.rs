//! `watch`: whom, how long, and what else is asked.

use super::request::{option_error, set};
use clap::Args;
use plan::{Draft, Error, Key, PlanCommand, ReadFile, WatchPlan};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use units::Nanos;

/// Watch a process without load, and show who waits for what
///
/// Looks at its threads about 20 times a second from outside: which run, which are ready and wait for a processor,
/// and what the others wait for. Nothing is attached to the process or changed in it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment watch 4711
  torment watch :8080 --for 30s
  torment watch 127.0.0.1:8080 --postgres 'postgres://me:{env:PGPASSWORD}@127.0.0.1/clinic'
  torment watch :8080 --format json > seen.json
  torment watch --for 1m -- java -jar app.jar
  torment watch --join watch.join               for a run on another machine, with --watch-on join")]
pub struct WatchCommand {
    /// A process by its id, or whichever one listens at a port; its children and the local databases and services
    /// that it talks to are watched too
    #[arg(value_name = "PID|:PORT|ADDRESS:PORT", required_unless_present_any = ["program", "join"])]
    whom: Option<String>,
    /// Start this and watch it; when the time is up, it is stopped (SIGTERM, 5 s later SIGKILL)
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "whom")]
    program: Vec<String>,
    /// Watch for a run on another machine, which waits with `--watch-on join`, by the file that it has written: whoever listens at its
    /// target's port, if nobody is named; - reads the file from standard input, env:NAME from that variable
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "interval"])]
    pub join: Option<String>,
    /// How long to watch [default: on a terminal until Ctrl-C, else 10s; for a run, until that is over]
    #[arg(long = "for", value_name = "TIME")]
    time: Option<String>,
    /// How often to redraw the table on the terminal [default: 1s]
    #[arg(long, value_name = "TIME")]
    interval: Option<String>,
    /// Ask this PostgreSQL what its sessions are doing, as a role with pg_monitor
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Read metrics from this address once a second, in the Prometheus text format
    #[arg(long, value_name = "URL")]
    metrics: Option<String>,
}

/// Who is to be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchTarget {
    /// A process.
    Process(u32),
    /// Whoever listens at this port.
    Port(u16),
    /// Whoever listens at one of these addresses.
    At(Vec<SocketAddr>),
    /// A program to be started, with its arguments.
    Program(Vec<String>),
}

/// All that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchRequest {
    /// Who.
    pub whom: WatchTarget,
    /// For how long, if that was said.
    pub time: Option<Nanos>,
    /// Between two tables.
    pub interval: Nanos,
    /// What else is asked; the processes are left open.
    pub asked: WatchPlan,
}

impl WatchCommand {
    /// What is meant.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn request(&self, read: ReadFile<'_>) -> Result<WatchRequest, Error> {
        let target = match &self.whom {
            Some(text) => parse_watch_target(text, started)?,
            None => WatchTarget::Program(self.program.clone()),
        };
        let interval = self.interval.as_deref().map(|text| parse_time("--interval", text)).transpose()?;
        Ok(WatchRequest {
            whom: target,
            time: self.time()?,
            interval: interval.unwrap_or(Nanos::from_secs(1)),
            asked: self.asked(read)?,
        })
    }

    /// The same for a run elsewhere: who, if that was said; for how long at most, if that was said; and what else is asked.
    ///
    /// # Errors
    /// As [`WatchCommand::request`].
    pub fn join_request(
        &self,
        read: ReadFile<'_>,
    ) -> Result<(Option<WatchTarget>, Option<Nanos>, WatchPlan), Error> {
        let target = self.whom.as_deref().map(|text| parse_watch_target(text, started)).transpose()?;
        Ok((target, self.time()?, self.asked(read)?))
    }

    fn time(&self) -> Result<Option<Nanos>, Error> {
        self.time.as_deref().map(|text| parse_time("--for", text)).transpose()
    }

    fn asked(&self, read: ReadFile<'_>) -> Result<WatchPlan, Error> {
        let mut draft = Draft::default();
        // What it says of the watch is checked as in a plan.
        draft.set(Key::Url, "WHOM", "null");
        draft.set(Key::Attach, "WHOM", "false");
        set(&mut draft, Key::Postgres, "--postgres", &self.postgres);
        set(&mut draft, Key::Metrics, "--metrics", &self.metrics);
        let mut plan = draft.check(PlanCommand::Find, read)?;
        plan.bind(|file| super::load::text(read(file), file), super::load::env_variable)?;
        Ok(plan.watch)
    }
}

pub(super) fn parse_time(option: &'static str, text: &str) -> Result<Nanos, Error> {
    let time: Nanos = text.parse().map_err(|e: units::ParseError| option_error(option, e.to_string()))?;
    match time {
        time if time < Nanos::from_secs(1) => {
            Err(option_error(option, format!("'{text}' is too short; expected at least 1s")))
        }
        time if time > Nanos::from_secs(31 * 86_400) => {
            Err(option_error(option, format!("'{text}' is too long; expected at most a month")))
        }
        time => Ok(time),
    }
}

fn started(program: &str) -> String {
    format!("a program to start goes after two dashes: torment watch -- {program}")
}

/// Whom `text` means; `otherwise` is said of what it might have been meant for.
pub(super) fn parse_watch_target(
    text: &str,
    otherwise: impl Fn(&str) -> String,
) -> Result<WatchTarget, Error> {
    let text = text.trim();
    let port = |digits: &str| digits.parse().ok().filter(|port: &u16| *port > 0);
    let process = || text.parse().ok().filter(|pid: &u32| *pid > 0).map(WatchTarget::Process);
    let address =
        || text.parse().ok().filter(|at: &SocketAddr| at.port() > 0).map(|at| WatchTarget::At(vec![at]));
    let local = || {
        let port = port(text.strip_prefix("localhost:")?)?;
        let ends: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        Some(WatchTarget::At(ends.map(|ip| SocketAddr::new(ip, port)).to_vec()))
    };
    let any = || text.strip_prefix(':').and_then(port).map(WatchTarget::Port);
    process().or_else(any).or_else(address).or_else(local).ok_or_else(|| {
        option_error(
            "WHOM",
            format!(
                "'{text}' is neither a process such as 4711, nor a port such as :8080, nor an address such \
                 as 127.0.0.1:8080; {}",
                otherwise(text)
            ),
        )
    })
}
