//! The recorded fault matrix.

mod recorded;
