//! The Java virtual machine (HotSpot), from outside: its counters ([`perfdata`]), which cost it nothing,
//! and once, when a verdict wants it, its own account of its threads ([`look()`]), which stops it for a moment.
//!
//! Nothing is loaded into it, and no signal is sent to anything but a HotSpot machine that is ready for it.

mod attach;
pub(crate) mod dump;
mod folder;
pub(crate) mod frames;
mod look;
pub(crate) mod perfdata;
mod process;
mod source;
#[cfg(test)]
mod tests;
pub(crate) mod virtuals;

pub(crate) use look::look;
pub(crate) use perfdata::version;
pub(crate) use source::JvmSource;
