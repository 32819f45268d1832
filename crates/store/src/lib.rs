//! Stores every run in one SQLite file: its event stream, and columns derived from it for lists.
//!
//! A [`RunWriter`] writes from its own thread and commits at least once a second, so a crash loses at most the last second and the load
//! never waits for the disk. Any number of processes may write and read at once. The store does not interpret a run: views fold its
//! events. Only what lists show beyond the verdict is derived from single events while they are written, for no list can read them all.

mod error;
mod events;
mod find;
mod label;
mod open;
mod run_status;
mod run_writer;
mod runs;
mod summary;
mod writer_process;

pub use error::Error;
pub use events::Events;
pub use find::check_name;
pub use open::{Store, default_path};
pub use run_status::RunStatus;
pub use run_writer::RunWriter;
pub use runs::{AnswerCounts, Filter, FreezeSummary, PreviousLimit, RunState, RunSummary};
pub use summary::LoadOutcome;
