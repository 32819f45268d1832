//! Starts and stops what a plan names, and leaves nothing behind: no process, no control group, no file.
//!
//! All is started by a *guard*, a process beside torment that adopts whatever its programs leave, and that ends and
//! undoes everything when it is told to, or when torment is gone, even killed. This crate never judges what is measured
//! meanwhile, and touches no program, folder or port that a plan does not name.
//!
//! The guard is torment executed anew, and so are the processes in which threads are made, memory is read or the machine is
//! measured: [`Anew`] is torment's end of one of these, [`Talk`] how any of them speaks.

mod anew;
mod check;
mod child;
mod database;
mod error;
mod group;
mod guard;
mod handle;
mod log;
mod order;
mod port;
pub mod postgres;
mod program;
mod ready;
mod talk;
mod tree;
mod undo;
mod up;

pub use anew::Anew;
pub use error::Error;
pub use group::may_limit;
pub use guard::guard;
pub use handle::Guard;
pub use port::{Listener, addresses, listeners};
pub use talk::{Heard, Talk};
