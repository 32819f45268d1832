//! The built-in service over real sockets.

mod client;
mod clinic;
mod descriptors;
mod faults;
mod http;
mod lifecycle;
mod reach;
mod truths;
