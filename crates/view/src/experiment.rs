//! An experiment as lines: its questions and answers, what each arm does, and the certainty. Used by summary, progress and the live
//! screen.

mod arm_tables;
mod bar;
mod causes;
mod certainty;
mod changes;
mod connections;
mod design_lookup;
mod forest;
mod progress;
mod words;

pub(crate) use arm_tables::{all as whole_tables, lines as tables};
pub(crate) use causes::cause_under_load;
pub(crate) use certainty::{lines as certainty, noise_table, placebo_answer, void_starts};
pub(crate) use design_lookup::{DesignLookup, contrast_side, figure};
pub use forest::hypothesis_lines;
pub(crate) use forest::{HypothesisRow, hypothesis_rows, is_of_several, prediction_line, sentences};
pub use progress::{arm_lines, current_start_line};
pub(crate) use progress::{block_of, design_line, standing_lines, start_begun_line, start_done_line};
pub(crate) use words::{answer_counts, answer_in_full, answer_word, factor, median, percent, ratio, value};

/// Maximum width of tables and bars; sentences are wrapped when printed.
const WIDTH: usize = 100;
