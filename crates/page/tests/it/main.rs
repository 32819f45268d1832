//! The page over real sockets.

mod client;
mod serve;
mod stream;
