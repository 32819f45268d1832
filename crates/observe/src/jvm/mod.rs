//! The Java virtual machine (HotSpot), from outside: its counters ([`perfdata`]), which cost it nothing,
//! once, when a verdict wants it, its own account of its threads ([`look()`]), which stops it for a moment; and for some seconds,
//! when a profile wants it, the recording of its Flight Recorder ([`JvmRecording`]) and the list of what it has compiled ([`compiled_code`]).
//!
//! Nothing is loaded into it, and no signal is sent to anything but a HotSpot machine that is ready for it.

mod attach;
pub(crate) mod code;
pub(crate) mod dump;
mod folder;
pub(crate) mod frames;
mod look;
pub(crate) mod perfdata;
mod process;
mod recording;
mod source;
#[cfg(test)]
mod tests;
pub(crate) mod virtuals;

pub use code::{MethodCode, compiled_code};
pub(crate) use look::look;
pub(crate) use perfdata::version;
pub use recording::JvmRecording;
pub(crate) use source::JvmSource;
