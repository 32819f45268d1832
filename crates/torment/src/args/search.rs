//! What a search takes, of requests or of processes.

use super::request::{flag, set};
use clap::Args;
use plan::{Draft, Key};

/// How a rate is searched for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(super) struct SearchArgs {
    /// The goal to meet: zero-drop, loss<0.1%, p99<50ms [default: zero-drop]
    #[arg(long)]
    goal: Option<String>,
    /// Lowest rate to try; the search starts here [default: 10/s]
    #[arg(long, value_name = "RATE")]
    from: Option<String>,
    /// Highest rate to try [default: 1,000,000/s]
    #[arg(long, value_name = "RATE")]
    max: Option<String>,
    /// How precisely to find the limit [default: 2%]
    #[arg(long, value_name = "SHARE")]
    width: Option<String>,
    /// How long one trial lasts [default: 10s]
    #[arg(long, value_name = "TIME")]
    trial: Option<String>,
    /// Use trials of 60 s, and find the limit within 1%
    #[arg(long)]
    careful: bool,
    /// Allow no bad trial at the rate that holds [default: one in ten]
    #[arg(long)]
    strict: bool,
    /// Stop after this long, and report what is known by then [default: about three minutes]
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
}

impl SearchArgs {
    pub(super) fn set(&self, draft: &mut Draft) {
        set(draft, Key::Goal, "--goal", &self.goal);
        set(draft, Key::From, "--from", &self.from);
        set(draft, Key::Max, "--max", &self.max);
        set(draft, Key::Width, "--width", &self.width);
        set(draft, Key::Trial, "--trial", &self.trial);
        flag(draft, Key::Careful, "--careful", self.careful, "true");
        flag(draft, Key::Strict, "--strict", self.strict, "true");
        set(draft, Key::Budget, "--budget", &self.budget);
    }
}
