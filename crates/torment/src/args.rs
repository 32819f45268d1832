//! The command line: what may be typed, and the plan it makes together with a plan file.

mod anatomy;
mod attach;
mod connections;
mod doctor;
mod explain;
mod export;
mod fleet;
mod image;
mod label;
mod load;
mod other_limit;
mod page;
mod plans;
mod probe;
mod profile;
mod request;
mod runs;
mod search;
mod selftest;
mod storm;
mod target;
#[cfg(test)]
mod tests;
mod threads;
mod try_command;
mod watch;
mod watch_options;
mod worker;
mod working_set;

pub use anatomy::{BinaryArgs, CallArgs};
pub use attach::AttachArgs;
pub use connections::ConnectionsArgs;
pub use doctor::DoctorArgs;
pub use explain::{ExplainArgs, ExplainTopic, explained};
pub use export::{ExportArgs, ProfileForm};
pub use fleet::{PodArgs, fleet_config, remote_run_request, render_manifests, watchers_config, why_no_fleet};
pub use image::ImageArgs;
pub use label::{KeepArgs, LabelArgs, distinct};
pub use load::{FindArgs, ModeArgs, RunArgs, env_variable, null_plan, text};
pub use other_limit::OtherLimit;
pub use page::{PageArgs, ReportArgs, ServeArgs};
pub use plans::{PlanAction, PlanOutput};
pub use probe::ProbeArgs;
pub use profile::ProfileArgs;
pub use runs::{CompareArgs, ListArgs, NameArgs, ShowArgs, TagArgs};
pub use selftest::SelftestArgs;
pub use storm::{ProcessesArgs, StormArgs, describe};
pub use target::TargetArgs;
pub use threads::ThreadsArgs;
pub use try_command::{TryArgs, kept};
pub use watch::{WatchCommand, WatchRequest, WatchTarget};
pub use worker::WorkerArgs;
pub use working_set::WorkingSetArgs;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use std::error::Error;
use std::io;
use std::num::ParseIntError;
use std::path::PathBuf;

/// Finds out how much a service can take.
#[derive(Debug, Parser)]
#[command(name = "torment", version, about, max_term_width = 100, after_help = EXAMPLES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
    /// What every command takes.
    #[command(flatten)]
    pub common: CommonArgs,
}

const EXAMPLES: &str = "\
Examples:
  torment find demo                          find the limit of the built-in service
  torment find http://127.0.0.1:8080/        find the limit of yours
  torment run http://127.0.0.1:8080/ -r 500  offer 500 requests a second for 30 s
  torment try plans/homelab.toml --quick     would more threads, or more cores, help?
  torment probe launch                       what a process and a thread cost here
  torment show                               show the last run again
  torment explain                            and why its limit is where it is
  torment serve                              look at all runs in a browser, live ones too
  torment watch :8080                        see who waits for what, without load
  torment profile :8080                      which code runs
  torment doctor                             what this machine allows, and what is lost otherwise

Exit codes:
  0 goal met, or limit found   99 goal not met       91 undecided
  2 wrong arguments or plan    93 did not recover    92 measured, but not trustworthy
  1 anything else             130 interrupted

`torment COMMAND --help` says more. Load only systems that you own or may test.";

/// One command.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would take the place of the help text of its arguments")]
pub enum Action {
    Find(Box<FindArgs>),
    Run(Box<RunArgs>),
    Try(TryArgs),
    Probe(ProbeArgs),
    Compare(CompareArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Serve(ServeArgs),
    Report(ReportArgs),
    Export(ExportArgs),
    Watch(WatchCommand),
    Profile(ProfileArgs),
    List(ListArgs),
    Name(NameArgs),
    Tag(TagArgs),
    /// Delete runs for good
    Rm {
        /// Runs by name, id or the start of an id, last, last~N
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    Target(TargetArgs),
    Worker(WorkerArgs),
    Image(ImageArgs),
    Attach(AttachArgs),
    Doctor(DoctorArgs),
    Selftest(SelftestArgs),
    /// Make a plan file from something else, or check one
    #[command(
        subcommand,
        after_help = "Examples:\n  torment plan from-curl 'curl -d a=b https://host/login' -o login.toml\n  \
                      torment plan from-har recording.har -o shop.toml\n  torment plan check shop.toml"
    )]
    Plan(PlanAction),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  torment completions bash > ~/.local/share/bash-completion/completions/torment"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Examples:\n  torment man | man -l -\n  torment man find > torment-find.1")]
    Man {
        /// A command [default: torment itself]
        command: Option<String>,
    },
}

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct CommonArgs {
    /// Where runs are kept [default: torment.db in the XDG data folder]
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// Output format; csv, ndjson and markdown for compare, list and show only; csv and parquet for export
    #[arg(long, global = true, value_enum, default_value_t, hide_possible_values = false)]
    pub format: OutputFormat,
    /// When to use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: AutoMode,
    /// Print only the result, no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl CommonArgs {
    /// Whether to use colour on an output: `terminal` says whether it is one, `no_color` what the
    /// environment's `NO_COLOR` holds (anything but nothing turns colour off, see no-color.org).
    pub fn colour(&self, terminal: bool, no_color: Option<&std::ffi::OsStr>) -> bool {
        match self.color {
            AutoMode::Always => true,
            AutoMode::Never => false,
            AutoMode::Auto => terminal && no_color.is_none_or(std::ffi::OsStr::is_empty),
        }
    }
}

units::named! {
    /// How results are printed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
    pub enum OutputFormat {
        /// Words and tables.
        #[default]
        #[value(help = None)]
        Text = "text",
        /// JSON with a schema version, and units in the keys.
        #[value(help = None)]
        Json = "json",
        /// Comma-separated values.
        #[value(help = None)]
        Csv = "csv",
        /// An object of JSON on each line.
        #[value(help = None)]
        Ndjson = "ndjson",
        /// Tables for pull requests.
        #[value(help = None)]
        Markdown = "markdown",
        /// Tables for other programs, in columns.
        #[value(help = None)]
        Parquet = "parquet",
    }
}

/// When something is done that is not always of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum AutoMode {
    /// Where it is of use.
    #[default]
    #[value(help = None)]
    Auto,
    /// Everywhere.
    #[value(help = None)]
    Always,
    /// Not at all.
    #[value(help = None)]
    Never,
}

/// What was typed for a number and is none, in words for people.
pub fn simplify_error(error: clap::Error) -> clap::Error {
    let is_none = Error::source(&error).is_some_and(|why| why.is::<ParseIntError>());
    match (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue)) {
        (Some(argument), Some(value)) if is_none => Args::command().error(
            ErrorKind::ValueValidation,
            format!("invalid value '{value}' for '{argument}': expected a whole number, such as 1000"),
        ),
        _ => error,
    }
}

/// Writes the completions for a shell.
pub fn write_completions(shell: clap_complete::Shell, out: &mut dyn io::Write) {
    clap_complete::generate(shell, &mut Args::command(), "torment", &mut { out });
}

/// Writes the manual page of torment, or of one of its commands.
///
/// # Errors
/// If there is no such command, or the page cannot be written.
pub fn write_man(command: Option<&str>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut torment = Args::command();
    torment.build();
    let page = match command {
        None => torment,
        Some(name) => torment
            .find_subcommand(name)
            .cloned()
            .ok_or_else(|| io::Error::other(format!("there is no command '{name}': see torment --help")))?,
    };
    clap_mangen::Man::new(page).render(&mut { out })
}
