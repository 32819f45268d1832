//! Presents a run: folds its events into a [`RunView`], and formats that as text lines, progress lines and JSON.
//!
//! Live, replayed and reported runs share this path. No colours, no widgets: a [`Text`] carries meaning ([`Tone`]), and the front end
//! decides its looks. Never reads a clock or a file.

pub mod anatomy;
mod caveats;
mod compare;
mod contrary_trials;
mod doctor;
pub mod document;
mod experiment;
mod explain;
mod figure_tables;
mod figures;
mod fleet;
mod freezes;
mod grid;
mod hiccups;
mod hot_code;
mod json;
mod list;
mod live_run;
mod load_second;
mod logs;
mod looks;
mod markdown;
pub mod metrics;
pub mod page;
mod profile;
mod progress;
mod remedy;
mod run;
mod scale;
mod seconds;
mod sparkline;
mod summary;
mod svg;
mod symbol;
pub mod tables;
mod text_plot;
mod trial;
mod trial_state;
mod values;
mod verdict;
mod watched;
mod wording;

pub use compare::{
    ComparedMeasure, ComparedRun, Difference, LoadSamples, MAX_COMPARED, NOISE, ProbeComparison,
    RunComparison, RunFigure, RunVerdict, Significance, compare_probes, compare_runs, strip_common_prefix,
};
pub use doctor::{cluster_json, cluster_lines, doctor_json, doctor_lines};
pub use document::{Text, TextSpan, Tone};
pub use experiment::{arm_lines, current_start_line, hypothesis_lines};
pub use explain::{explain, verdict_change};
pub use figures::figure_lines;
pub use grid::{Grid, csv_line};
pub use json::run_json;
pub use list::{is_at_least, limit_change, list_grid, list_json, list_lines, result_words};
pub use live_run::LiveRun;
pub use load_second::LoadSecond;
pub use logs::log_lines;
pub use markdown::markdown;
pub use progress::{ProgressLog, trial_line};
pub use run::{CurrentLoad, ReportKind, RunView, TimeSpan, WatchedPlace};
pub use seconds::seconds_grid;
pub use sparkline::{Glyphs, sparklines, trial_strip};
pub use summary::{summary, thread_limit_lines};
pub use svg::svg;
pub use text_plot::sketch;
pub use trial::{LoadFigures, LoadValue, Outstanding, StepFigures, TimeSummary, Trial};
pub use trial_state::{TrialState, outcome_tone, why_bad};
pub use watched::{WindowFigures, not_observable, who_json, who_waits, window_figures};
pub use wording::{ArrivalKind, escape_xml, format_rate};
