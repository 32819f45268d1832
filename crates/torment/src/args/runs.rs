//! What is done with runs that are kept: `list`, `show`, `compare`, `name`, `tag`.

use super::label::{name, tag};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use store::{CameTo, Filter};
use units::{Moment, ParseError, Share};

/// List the runs that are kept
///
/// The newest first: which, called what, of which target, and what they came to. The measurements of an experiment are left out.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
Examples:
  torment list --since 2d --target :8080
  torment list --since 2026-11-01 --until 2026-11-08 --verdict not-met
  torment list --name before --limit 5
  torment list --tag pool=10 --verdict met
  torment list --format csv > runs.csv")]
pub struct ListArgs {
    /// Only those of this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Only those with this tag, whole or its key; may be repeated
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only those whose target holds this text
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only those of this command: run, find, try, probe, 'find threads', …
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    /// Only those that came to this
    #[arg(long, value_name = "VERDICT", value_parser = verdict())]
    verdict: Option<CameTo>,
    /// Only those of a machine whose host or processor holds this text
    #[arg(long, value_name = "TEXT")]
    machine: Option<String>,
    /// Only those that began since: 30m, 12h, 2d or 4w ago, or a date such as 2026-11-20 or 2026-11-20T16:15:00Z
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Moment>,
    /// Only those that began before that: as for --since
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    until: Option<Moment>,
    /// At most so many
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
            came_to: self.verdict,
            since_unix_ms: self.since.map(Moment::unix_ms),
            until_unix_ms: self.until.map(Moment::unix_ms),
            limit: self.limit,
            parts: false,
        }
    }
}

/// What a run may have come to, for `--help` and for whoever types another word.
fn verdict() -> impl TypedValueParser<Value = CameTo> {
    let words = CameTo::WORDS.map(|(word, meaning, _)| PossibleValue::new(word).help(meaning));
    PossibleValuesParser::new(words).try_map(|word| word.parse())
}

fn moment(text: &str) -> Result<Moment, ParseError> {
    Moment::parse(text, sys::now())
}

/// Show a run again
///
/// What it came to, and small charts of its seconds. As csv or ndjson its seconds of load, a line each; as markdown its figures with
/// their intervals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment show                 the last run
  torment show last~1          the one before it
  torment show before          the latest run of that name
  torment show 3f2a            one of `torment list`
  torment show --format json   for programs")]
pub struct ShowArgs {
    /// Which run: its name, its id or the beginning of it, last, last~N; the last one if left out
    pub run: Option<String>,
    /// What the programs have written that its plan started
    #[arg(long)]
    pub logs: bool,
    /// Draw the charts with ASCII characters alone
    #[arg(long)]
    pub plain: bool,
}

/// Compare runs: what became better or worse, with intervals
///
/// Two to eight runs of `torment run`, or of `torment find`, each against the first: the limit, response times, goodput, what was
/// lost, the target's processor time. A difference is one if all of its 95 % interval is beyond the tolerance. Two runs of
/// `torment probe` are compared figure by figure.
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
    /// Runs by name, id or the beginning of it, last, last~N; of probes also files
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Compare with this run, and say by the exit code whether another is worse
    #[arg(long, value_name = "RUN")]
    pub baseline: Option<String>,
    /// What differs by less is the same
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub tolerance: Share,
    /// Also write a test report to this file: a case for each figure, failed if it is worse
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

/// Give a run a name
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  torment name last before\n  torment name before --remove")]
pub struct NameArgs {
    /// Which run
    pub run: String,
    /// Its new name
    #[arg(value_parser = name, required_unless_present = "remove")]
    pub name: Option<String>,
    /// Leave it without a name
    #[arg(long, conflicts_with = "name")]
    pub remove: bool,
}

/// Give a run tags, or take them away
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  torment tag last pool=10 nightly\n  torment tag last nightly --remove")]
pub struct TagArgs {
    /// Which run
    pub run: String,
    /// KEY=VALUE, or a word
    #[arg(value_name = "TAG", value_parser = tag, required = true)]
    pub tags: Vec<String>,
    /// Take these away
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
