//! Servers of one's own, for tests, and what the usual harness of tests lacks: each server in a temporary folder, as an
//! ordinary user, gone when dropped.

mod alone;
mod checks;
mod nginx;
mod postgres;
mod relay;
mod server;

pub use alone::is_alone;
pub use checks::{Check, checks};
pub use nginx::Nginx;
pub use postgres::{Postgres, Unavailable};
pub use relay::Relay;
