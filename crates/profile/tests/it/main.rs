//! Profiles of real programs, checked against what is known of them.

mod java;
mod javascript;
mod opinions;
mod program;
mod python;
mod waiting;
