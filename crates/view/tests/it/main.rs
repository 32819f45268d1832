//! Words, tables and series.

mod compare;
mod experiment;
mod golden;
mod hand;
mod measures;
mod page;
mod tables;
