//! The terminal as it is drawn.

mod attempt;
mod machine;
mod recorded;
mod screen;
mod terminal;
