//! The terminal front end: lines in colour (`print`), and a live view of the current run ([`LiveView`]).
//!
//! It draws from its own thread a few times a second and never makes the run wait for the terminal. It decides how a run looks; `view`
//! decides what it means.

mod charts;
mod experiment;
mod frame_context;
mod live_view;
mod load;
mod machine;
mod palette;
mod print;
mod rate_scale;
mod row_layout;
mod screen;
mod target_panel;
mod text_screen;

pub use live_view::{Error, LiveView, restore_terminal};
pub use palette::Palette;
pub use print::{PrintStyle, print};
pub use screen::draw;
pub use text_screen::TextScreen;
