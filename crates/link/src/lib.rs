//! The link: the stream between the coordinator of a fleet and each of its members.
//!
//! One bidirectional gRPC stream over any byte stream, carrying MessagePack of the types of `fleet`. A coordinator has
//! one [`CoordinatorLink`] for all its members, a member one [`MemberLink`] to its coordinator; both are used from
//! threads that may block, and have one low-priority thread of their own. Everything is bounded: both queues, and the
//! size of a message. A silent peer is pinged.
//!
//! It decides nothing: what messages say, and what a loss means, is up to `fleet` and `runner`. It never starts a
//! process.

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
