//! What is done with runs that are kept: `list`, `show`, `compare`, `name`, `tag`.

use super::label::{name, tag};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use store::{Filter, RunStatus};
use units::{Moment, ParseError, Share};

/// List the stored runs
///
/// Newest first: id, name, target and result. The measurements of an experiment are left out.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  torment list --since 2d --target :8080
  torment list --since 2026-11-01 --until 2026-11-08 --verdict not-met
  torment list --name before --limit 5
  torment list --tag pool=10 --verdict met
  torment list --format csv > runs.csv")]
pub struct ListArgs {
    /// Only runs with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only runs with this tag, KEY=VALUE or just the key; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only runs whose target contains this text
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only runs of this command: run, find, try, probe, 'find threads', …
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Only runs with this result
    #[arg(long, value_name = "VERDICT", value_parser = verdict())]
    verdict: Option<RunStatus>,
    /// Only runs on a machine whose host name or processor contains this text
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// Only runs that began since: 30m, 12h, 2d or 4w ago, or a date such as 2026-11-20 or 2026-11-20T16:15:00Z
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Moment>,
    /// Only runs that began before this, given as for --since
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Moment>,
    /// List at most this many
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl ListArgs {
    /// What is listed.
    pub fn filter(&self) -> Filter {
        Filter {
            command: self.command.clone(),
            target: self.target.clone(),
            name: self.name.clone(),
            tags: self.tags.clone(),
            machine: self.machine.clone(),
            status: self.verdict,
            since_unix_ms: self.since.map(Moment::unix_ms),
            until_unix_ms: self.until.map(Moment::unix_ms),
            limit: self.limit,
            parts: false,
        }
    }
}

/// What a run may have come to, for `--help` and for whoever types another word.
fn verdict() -> impl TypedValueParser<Value = RunStatus> {
    let words = RunStatus::WORDS.map(|(word, meaning, _)| PossibleValue::new(word).help(meaning));
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

fn moment(text: &str) -> Result<Moment, ParseError> {
    Moment::parse(text, sys::now())
}

/// Show a run again
///
/// Shows its result, and small charts of its seconds. As csv or ndjson, one line per second of load; as markdown, its
/// figures with their intervals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment show                 the last run
  torment show last~1          the one before it
  torment show before          the latest run of that name
  torment show 3f2a            one of `torment list`
  torment show --format json   for programs")]
pub struct ShowArgs {
    /// A run, by name, id or the start of its id, last, last~N [default: last]
    pub run: Option<String>,
    /// Print the output of the programs that its plan started
    #[arg(long)]
    pub logs: bool,
    /// Draw the charts in plain ASCII
    #[arg(long)]
    pub plain: bool,
}

/// Compare runs: what got better or worse, with confidence intervals
///
/// Two to eight runs of `torment run`, or of `torment find`, each against the first: the limit, response times,
/// goodput, what was lost, the target's processor time. A difference counts if all of its 95 % interval is beyond the
/// tolerance. Two runs of `torment probe` are compared figure by figure.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment compare last~1 last
  torment compare before after --format markdown
  torment compare --baseline main last --tolerance 10% --junit report.xml
  torment compare desktop.json laptop.json   files of `torment probe --save`

Exit codes:
  0 compared; with --baseline: no run is worse   90 one is worse   91 one is undecided, none is worse")]
pub struct CompareArgs {
    /// Runs by name, id or the start of an id, last, last~N; for probes also files
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Compare with this run, and set the exit code if another is worse
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<String>,
    /// Differences smaller than this do not count
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub tolerance: Share,
    /// Also write a JUnit test report to this file: one case per figure, failed if it is worse
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Name a run
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  torment name last before\n  torment name before --remove")]
pub struct NameArgs {
    /// The run
    pub run: String,
    /// Its new name
    #[arg(value_parser = name, required_unless_present = "remove")]
    pub name: Option<String>,
    /// Remove its name
    #[arg(long, conflicts_with = "name")]
    pub remove: bool,
}

/// Tag a run, or remove its tags
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  torment tag last pool=10 nightly\n  torment tag last nightly --remove")]
pub struct TagArgs {
    /// The run
    pub run: String,
    /// KEY=VALUE, or a word
    #[arg(value_name = "TAG", value_parser = tag, required = true)]
    pub tags: Vec<String>,
    /// Remove these tags
    #[arg(long)]
    pub remove: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_words() {
        for text in ["nightly", "pool=10", "a=", "a=b=c", "größe=<b>"] {
            assert_eq!(tag(text).as_deref(), Ok(text));
        }
        for text in ["", "=", "=10", "two words", "a\tb", &"x".repeat(101)] {
            assert!(tag(text).is_err(), "{text}");
        }
    }
}
