//! The Java virtual machine (HotSpot), from outside: its counters ([`perfdata`]), which cost it nothing,
//! and once, when a verdict wants it, its own account of its threads ([`look()`]), which stops it for a moment.
//!
//! Nothing is loaded into it, and no signal is sent to anything but a HotSpot machine that is ready for it.

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
