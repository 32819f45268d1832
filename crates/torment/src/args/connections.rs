use super::load::{ModeArgs, TrafficArgs, plan_from};
use super::request::{TargetArg, option_error, set};
use clap::Args;
use plan::{Draft, Error, Key, PlanCommand, ReadFile, Task};
use runner::ConnectionsRequest;
use std::str::FromStr;
use units::{Nanos, Rate, Share};

/// Find how many connections a service holds
///
/// Opens connections, twice as many each time, keeps them open, and sends requests on all of them in turn, until one
/// is lost or the goal fails; then narrows the number down. Every connection gets at least one request in a trial.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment find connections http://127.0.0.1:8080/             held open, hardly used
  torment find connections http://127.0.0.1:8080/ --rate 500  with 500 requests a second over all of them
  torment find connections http://127.0.0.1:8080/json --rate 1k --goal 'p99<50ms' --max 40000
  torment find connections http://10.0.0.5:8080/ --on ssh:node2,node3    from two machines, each with its own ports

Exit codes: 0 number found, 99 not even one, 92 this machine was the limit, 93 the target did not recover.")]
pub struct ConnectionsArgs {
    #[command(flatten)]
    target: TargetArg,
    /// Requests a second over all connections; a trial lasts until each has had one
    #[arg(short, long, help_heading = "Search")]
    rate: Option<String>,
    /// Send one request on each connection in a trial [default, without --rate]
    #[arg(long, conflicts_with = "rate", help_heading = "Search")]
    idle: bool,
    /// The goal to meet, besides losing no connection: zero-drop, loss<0.1%, p99<50ms [default: zero-drop]
    #[arg(long, help_heading = "Search")]
    goal: Option<String>,
    /// How many connections the search starts with
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    from: u32,
    /// Most connections to try
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    max: u32,
    /// How precisely to find the number [default: 2%]
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    width: Option<String>,
    /// How long one trial lasts at least [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    trial: Option<String>,
    /// What is sent, and who holds them.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// What to do with the plan.
    #[command(flatten)]
    pub how: ModeArgs,
}

/// A trial is not for an average, but to see whether what is open stays so.
const TRIAL: Nanos = Nanos::from_secs(5);

impl ConnectionsArgs {
    /// What is asked: the plan, of a file if the target is one, with these options over it.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn request(&self, read: ReadFile<'_>) -> Result<ConnectionsRequest, Error> {
        let mut draft = Draft::default();
        set(&mut draft, Key::Goal, "--goal", &self.goal);
        set(&mut draft, Key::Width, "--width", &self.width);
        self.traffic.set(&mut draft);
        let plan = plan_from(PlanCommand::Find, self.target.text(), draft, read)?;
        let width = match &plan.task {
            Task::Find(find) => find.width,
            Task::Run(_) | Task::Try(_) => Share(0.02),
        };
        let rate: Option<Rate> = parsed("--rate", self.rate.as_deref())?;
        if let Some(rate) = rate.filter(|rate| rate.0 <= 0.0) {
            return Err(option_error(
                "--rate",
                format!("{rate} is not a rate; for connections that are only held open, use --idle"),
            ));
        }
        let trial = parsed("--trial", self.trial.as_deref())?.unwrap_or(TRIAL);
        if trial < Nanos::from_secs(1) {
            return Err(option_error("--trial", format!("{trial} is too short: at least 1s")));
        }
        Ok(ConnectionsRequest { plan, rate, from: self.from, most: self.max, trial, width })
    }
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(
    option: &'static str,
    text: Option<&str>,
) -> Result<Option<T>, Error> {
    text.map(|text| text.parse().map_err(|why: T::Err| option_error(option, why.to_string()))).transpose()
}
