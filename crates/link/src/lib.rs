//! The link: the stream between the coordinator of a fleet and each of its members.
//!
//! One bidirectional gRPC stream over whatever carries bytes both ways, MessagePack of the types of `fleet` in it. A coordinator
//! has one [`Post`] for all its members, a member one [`Wire`] to its coordinator; both are used by threads that may wait, and
//! have one thread of their own that gives way to the load. Everything is bounded: what waits to be sent, what waits to be
//! heard, how large a message is. Who is silent is asked whether it is still there.
//!
//! It decides nothing: what is told, and what a loss means, is for `fleet` and `runner`. It never starts a process.

mod beat;
mod codec;
mod connection;
mod door;
mod error;
mod join;
mod lane;
mod member;
mod office;
mod pass;
mod pipe;
mod pulse;
mod serve;
mod thread;

pub use error::Error;
pub use join::Wire;
pub use office::News;
pub use pass::{Authority, JoinFile, Pass};
pub use pipe::Duplex;
pub use serve::Post;
