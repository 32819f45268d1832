//! Private servers for tests, and what the usual test harness lacks: each server in a temporary folder, as an
//! ordinary user, gone when dropped.

mod harness;
mod nginx;
mod own_process;
mod postgres;
mod relay;
mod server;

pub use harness::{NamedTest, run_tests};
pub use nginx::Nginx;
pub use own_process::is_own_process;
pub use postgres::{PostgresUnavailable, TestPostgres};
pub use relay::TestRelay;
