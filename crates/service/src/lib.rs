//! Starts and stops what a plan names, and leaves nothing behind: no process, control group or file.
//!
//! Everything is started by a *guard*, a process beside torment that adopts whatever its programs leave, and that
//! ends and undoes everything when told to, or when torment is gone, even killed. This crate never judges what is
//! measured meanwhile, and touches no program, folder or port that a plan does not name.
//!
//! The guard is torment re-executed, and so are the processes in which threads are made, memory is read or the
//! machine is measured: [`Subprocess`] is torment's end of one, [`JsonSocket`] how they communicate.

mod check;
mod database;
mod error;
mod group;
mod guard;
mod guard_protocol;
mod guarded_program;
mod handle;
mod json_socket;
mod output;
mod port;
pub mod postgres;
mod process_tree;
mod program;
mod ready;
mod startup;
mod subprocess;
mod undo;

pub use error::Error;
pub use group::check_may_limit;
pub use guard::guard;
pub use handle::Guard;
pub use json_socket::{Incoming, JsonSocket};
pub use port::{ListeningProcess, addresses, listeners};
pub use subprocess::Subprocess;
