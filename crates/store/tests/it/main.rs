//! The store as its users see it.

mod begun;
mod experiments;
mod labels;
mod store;
