//! What a run looks like: folds its events into a [`RunView`], and turns that into text lines,
//! progress lines and JSON.
//!
//! Live, replayed and reported runs take this one path. No colour and no widget: a [`Line`] says
//! what its parts mean ([`Tone`]), a face decides how that looks. Never a clock, never a file.

mod caveats;
mod experiment;
mod explain;
mod json;
mod line;
mod list;
mod logs;
mod progress;
mod reason;
mod run;
mod summary;
mod table;
mod trial;
mod verdict;
mod watched;

pub use experiment::{arm_lines, hypothesis_lines, start_line};
pub use explain::{changed, explain};
pub use json::run_json;
pub use line::{Line, Span, Tone};
pub use list::{list_json, list_lines};
pub use logs::logs;
pub use progress::{Progress, trial_line};
pub use reason::{TrialState, why_bad};
pub use run::{Current, End, Log, RunView, Second, Started, Visiting};
pub use summary::summary;
pub use trial::{Figures, Outstanding, PartFigures, Times, Trial};
pub use watched::{Figure, figure, not_observable, session_words, who_json, who_waits};
