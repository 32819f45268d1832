//! Profiles of programs that run, beside what is known of them.

mod java;
mod javascript;
mod opinions;
mod program;
mod python;
mod waiting;
