//! The terminal face: lines in colour ([`print`]), and a live view of a run that goes on ([`Live`]).
//!
//! It draws from its own thread a few times a second and never makes the run wait for the
//! terminal. It decides how a run looks, never what it means: that is `view`'s.

mod attempt;
mod board;
mod charts;
mod live;
mod load;
mod machine;
mod palette;
mod pen;
mod print;
mod rows;
mod scale;
mod screen;
mod target;

pub use board::Board;
pub use live::{Error, Live, give_back};
pub use palette::Palette;
pub use print::{Paper, print};
pub use screen::draw;
