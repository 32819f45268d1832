//! Servers of one's own, for tests and for the fault matrix, and a process of one's own for a test: each server in a temporary folder, as an
//! ordinary user, gone when dropped.

mod alone;
#[cfg(feature = "nginx")]
mod nginx;
mod postgres;
mod server;

pub use alone::is_alone;
#[cfg(feature = "nginx")]
pub use nginx::Nginx;
pub use postgres::{Postgres, Unavailable};
