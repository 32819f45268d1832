//! What was seen of the target: words, figures and tables of windows. Averages are over the time of
//! the windows; what was not observable is said, never shown as nothing.

mod figures;
mod trees;
mod who;
mod words;

pub use figures::{Figure, figure};
pub use who::{not_observable, who_json, who_waits};

pub(crate) use figures::cpu_of;
pub(crate) use trees::{Tree, Trees};
pub(crate) use words::{amount, average, session_words, subject_name, words_of};
