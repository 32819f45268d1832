//! What other tools wrote, made into plans.

mod accepted;
mod har;
mod openapi;
mod plans;
