//! The Java VM (HotSpot), from outside: its counters ([`perfdata`]), which cost it nothing, and once, if a
//! verdict needs it, a thread dump ([`dump_threads()`]), which stops it for a moment.
//!
//! Nothing is loaded into it, and only a HotSpot VM that is ready for a signal is sent one.

mod attach;
mod closer_look;
pub(crate) mod dump;
pub(crate) mod frames;
pub(crate) mod perfdata;
mod process;
mod source;
#[cfg(test)]
mod tests;
mod tmp_dir;
pub(crate) mod virtual_threads;

pub(crate) use closer_look::dump_threads;
pub(crate) use perfdata::version;
pub(crate) use source::JvmSource;
