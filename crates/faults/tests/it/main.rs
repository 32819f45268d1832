//! The matrix of broken services, as it was recorded.

mod recorded;
