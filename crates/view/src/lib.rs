//! What a run looks like: folds its events into a [`RunView`], and turns that into text lines,
//! progress lines and JSON.
//!
//! Live, replayed and reported runs take this one path. No colour and no widget: a [`Text`] says
//! what its parts mean ([`Tone`]), a face decides how that looks. Never a clock, never a file.

pub mod anatomy;
mod caveats;
mod chart;
mod code;
mod compare;
mod doctor;
pub mod document;
mod experiment;
mod explain;
mod figures;
mod fleet;
mod freezes;
mod grid;
mod hiccups;
mod json;
mod list;
mod logs;
mod looks;
mod markdown;
pub mod measures;
mod ongoing;
pub mod page;
mod profile;
mod progress;
mod reason;
mod remedy;
mod run;
mod scale;
mod second;
mod seconds;
mod sheet;
mod sketch;
mod strays;
mod summary;
mod svg;
mod symbol;
pub mod tables;
mod trial;
mod values;
mod verdict;
mod watched;
mod words;

pub use chart::{Glyphs, charts, trial_strip};
pub use compare::{
    Compared, Comparison, Difference, MOST_COMPARED, Measure, NOISE, RunComparison, RunFigure, RunVerdict,
    Spread, Standing, compare, compare_runs, differing_ends,
};
pub use doctor::{cluster_json, cluster_lines, doctor_json, doctor_lines};
pub use document::{Piece, Text, Tone};
pub use experiment::{arm_lines, hypothesis_lines, start_line};
pub use explain::{changed, explain};
pub use figures::figure_lines;
pub use grid::{Grid, csv_line};
pub use json::run_json;
pub use list::{against, is_at_least, list_grid, list_json, list_lines, outcome};
pub use logs::logs;
pub use markdown::markdown;
pub use ongoing::Ongoing;
pub use progress::{Progress, trial_line};
pub use reason::{TrialState, why_bad};
pub use run::{Current, Kind, PlaceSeen, RunView, Stretch};
pub use second::Second;
pub use seconds::seconds_grid;
pub use sketch::sketch;
pub use summary::{limits, summary};
pub use svg::svg;
pub use trial::{Figures, LoadValue, Outstanding, PartFigures, Times, Trial};
pub use watched::{Figure, figure, not_observable, who_json, who_waits};
pub use words::{Words, number, xml};
