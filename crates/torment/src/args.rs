//! The command line: what may be typed, and the plan it makes together with a plan file.

mod attempt;
mod load;
mod plans;
mod request;
mod selftest;
mod target;
#[cfg(test)]
mod tests;
mod watch;
mod watching;

pub use attempt::{TryArgs, kept};
pub use load::{FindArgs, How, RunArgs, variable};
pub use plans::{Output, PlanAction};
pub use selftest::SelftestArgs;
pub use target::TargetArgs;
pub use watch::{WatchCommand, Watching, Whom};

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use std::io;
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
    pub common: Common,
}

const EXAMPLES: &str = "\
Examples:
  torment find demo                          find the limit of the built-in service
  torment find http://127.0.0.1:8080/        find the limit of yours
  torment run http://127.0.0.1:8080/ -r 500  offer 500 requests a second for 30 s
  torment try plans/homelab.toml --quick     would more threads, or more cores, help?
  torment show                               see the last run again
  torment explain                            and why its limit is where it is
  torment watch :8080                        see who waits for what, without load

Exit codes:
  0 goal met, or limit found   99 goal not met       91 undecided
  2 wrong arguments or plan    93 did not recover    92 measured, but not to be trusted
  1 anything else             130 interrupted

`torment COMMAND --help` says more. Load only what is yours to load.";

/// One command.
#[derive(Debug, Subcommand)]
#[allow(missing_docs, reason = "a comment here would take the place of the help text of its arguments")]
pub enum Action {
    Find(FindArgs),
    Run(RunArgs),
    Try(TryArgs),
    /// Show a run again
    #[command(
        after_help = "Examples:\n  torment show                 the last run\n  torment show 3f2a            one of `torment list`\n  torment show --format json   for programs"
    )]
    Show {
        /// Which run, or the beginning of its name; the last one if left out
        run: Option<String>,
        /// What the programs have written that its plan started
        #[arg(long)]
        logs: bool,
    },
    /// Say in full why a run's limit is where it is
    ///
    /// Every finding with what it rests on, the figures of each step, what was watched, what could not be
    /// seen, and what would change the verdict.
    #[command(
        after_help = "Examples:\n  torment explain              the last run\n  torment explain 3f2a         one of `torment list`\n  torment explain 3f2a --again judged by the rules of this version"
    )]
    Explain {
        /// Which run, or the beginning of its name; the last one if left out
        run: Option<String>,
        /// Judge it again from what was recorded, by the rules of this version; nothing is stored
        #[arg(long)]
        again: bool,
    },
    Watch(WatchCommand),
    /// List the runs that are kept
    List,
    /// Remove runs for good
    Rm {
        /// Which runs, by name or the beginning of it
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
    Target(TargetArgs),
    Selftest(SelftestArgs),
    /// Make a plan file of something else, or check one
    #[command(
        subcommand,
        after_help = "Examples:\n  torment plan from-curl 'curl -d a=b https://host/login' -o login.toml\n  \
                      torment plan from-har recording.har -o shop.toml\n  torment plan check shop.toml"
    )]
    Plan(PlanAction),
    /// Print the completions for a shell
    #[command(
        after_help = "Example:\n  torment completions bash > ~/.local/share/bash-completion/completions/torment"
    )]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Examples:\n  torment man | man -l -\n  torment man find > torment-find.1")]
    Man {
        /// Of this command; of torment itself if left out
        command: Option<String>,
    },
}

/// What every command takes.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Common {
    /// Where runs are kept [default: torment.db in the XDG data folder]
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// For people, or for programs
    #[arg(long, global = true, value_enum, default_value_t, hide_possible_values = false)]
    pub format: Format,
    /// When to use colour; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    /// Only the result, no progress
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

impl Common {
    /// Whether to use colour on an output: `terminal` says whether it is one, `no_color` what the
    /// environment's `NO_COLOR` holds (anything but nothing turns colour off, see no-color.org).
    pub fn colour(&self, terminal: bool, no_color: Option<&std::ffi::OsStr>) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && no_color.is_none_or(std::ffi::OsStr::is_empty),
        }
    }
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Words and tables.
    #[default]
    #[value(help = None)]
    Text,
    /// JSON with a schema version, and units in the keys.
    #[value(help = None)]
    Json,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    #[value(help = None)]
    Auto,
    /// Even into a pipe.
    #[value(help = None)]
    Always,
    /// Not at all.
    #[value(help = None)]
    Never,
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
