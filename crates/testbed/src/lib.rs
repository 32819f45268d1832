//! What tests need around them. Used by tests only; never a part of the program.

mod nginx;
mod postgres;
mod server;

pub use nginx::Nginx;
pub use postgres::Postgres;
