//! The Java virtual machine (HotSpot), from outside: its counters ([`perfdata`]), which cost it nothing,
//! and once, when a verdict wants it, its own account of its threads ([`look()`]), which stops it for a moment.
//!
//! Nothing is loaded into it, and no signal is sent to anything but a HotSpot machine that is ready for it.

mod attach;
mod dump;
mod folder;
mod frames;
mod look;
mod perfdata;
mod process;
mod source;
#[cfg(test)]
mod tests;
mod virtuals;

pub(crate) use look::look;
pub(crate) use perfdata::version;
pub(crate) use source::JvmSource;
