//! An experiment in lines: what is asked and how it is answered, what each arm does, and how sure all that is.
//! Summary, progress and the live screen take them from here.

mod arms;
mod bar;
mod certainty;
mod changes;
mod connections;
mod forest;
mod gave;
mod names;
mod story;
mod words;

pub(crate) use arms::{all as whole_tables, lines as tables};
pub(crate) use certainty::{lines as certainty, noise_table, says, void};
pub use forest::short as hypothesis_lines;
pub(crate) use forest::{Row, expected, is_of_several, rows, sentences};
pub(crate) use gave::gave;
pub(crate) use names::{Names, figure};
pub(crate) use story::now;
pub(crate) use story::{block_of, designed, stands, started, visited};
pub use story::{latest as arm_lines, now as start_line};
pub(crate) use words::{
    answer_in_full, answer_word, counted, factor, median, number_of, percent, ratio, value,
};

/// Tables and bars are no wider than this; sentences are wrapped by whoever prints them.
const WIDTH: usize = 100;
