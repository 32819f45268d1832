//! The store as its users see it.

mod experiments;
mod freezes;
mod labels;
mod previous_limit;
mod run_started;
mod store;
