//! Servers of one's own, for tests and for the fault matrix: each in a temporary folder, as an
//! ordinary user, gone when dropped.

#[cfg(feature = "nginx")]
mod nginx;
mod postgres;
mod server;

#[cfg(feature = "nginx")]
pub use nginx::Nginx;
pub use postgres::{Postgres, Unavailable};
