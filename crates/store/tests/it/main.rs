//! The store as its users see it.

mod before;
mod begun;
mod experiments;
mod labels;
mod still;
mod store;
