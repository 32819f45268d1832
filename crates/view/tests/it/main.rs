//! Words, tables and series.

mod compare;
mod experiment;
mod golden;
mod metrics;
mod page;
mod synthetic;
mod tables;
