//! An experiment in lines: what is asked and how it is answered, what each arm does, and how sure all that is.
//! Summary, progress and the live screen take them from here.

mod arms;
mod bar;
mod certainty;
mod connections;
mod forest;
mod names;
mod story;
mod words;

pub(crate) use arms::lines as tables;
pub(crate) use certainty::{lines as certainty, void};
pub use forest::short as hypothesis_lines;
pub(crate) use forest::{is_of_several, sentences};
pub(crate) use names::Names;
pub(crate) use story::{designed, stands, started, visited};
pub use story::{latest as arm_lines, now as start_line};
pub(crate) use words::{counted, number_of};

/// Tables and bars are no wider than this; sentences are wrapped by whoever prints them.
const WIDTH: usize = 100;
