//! The link: the stream between the coordinator of a fleet and each of its members.
//!
//! One bidirectional gRPC stream over whatever carries bytes both ways, MessagePack of the types of `fleet` in it. A coordinator
//! has one [`Post`] for all its members, a member one [`Wire`] to its coordinator; both are used by threads that may wait, and
//! have one thread of their own that gives way to the load. Everything is bounded: what waits to be sent, what waits to be
//! heard, how large a message is. Who is silent is asked whether it is still there.
//!
//! It decides nothing: what is told, and what a loss means, is for `fleet` and `runner`. It never starts a process.

mod codec;
mod connection;
mod coordinator_link;
mod credentials;
mod duplex;
mod error;
mod heartbeat;
mod liveness;
mod member_handle;
mod member_link;
mod registry;
mod runtime_thread;
mod send_queue;
mod tls;

pub use coordinator_link::CoordinatorLink;
pub use credentials::{Authority, Credentials, JoinFile};
pub use duplex::Duplex;
pub use error::Error;
pub use member_link::MemberLink;
pub use registry::MemberEvent;
