//! Programs seen from outside.

mod library;
mod points;
mod seen;
