//! Plans made from other tools' output.

mod accepted;
mod har;
mod openapi;
mod plans;
