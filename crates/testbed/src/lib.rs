//! What tests need around them. Used by tests only; never a part of the program.

mod postgres;

pub use postgres::Postgres;
