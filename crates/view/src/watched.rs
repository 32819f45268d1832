//! Observations of the target: windows as words, figures and tables. Averages are over the windows' time; what is not observable is said,
//! never shown as nothing.

mod figures;
mod trees;
mod wait_table;
mod words;

pub use figures::{WindowFigures, window_figures};
pub use wait_table::{not_observable, who_json, who_waits};

pub(crate) use figures::cpu_of;
pub(crate) use trees::{TreeIdentity, TreeRegistry};
pub(crate) use words::{amount, average, session_words, sessions_words, subject_name};
