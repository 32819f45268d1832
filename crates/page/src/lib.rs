//! The one web page: served live, or frozen into one self-contained HTML file.
//!
//! The page is `ui/`, built by npm before this crate (`make page`); without that a few words take its place. What it shows
//! is a [`view::document::Document`], which says what things mean; this crate brings it there.
//!
//! Served, a run is read from the store, as any other process reads it, whether it goes on in this process, in another, or
//! nowhere any longer. Whoever makes a run tells this crate nothing but its id and its end, and never waits for it: a
//! browser that stands still holds up its own connection and nothing else. Nothing here writes.

mod access;
mod address;
mod compare;
mod history;
mod html;
mod http_error;
mod limited_listener;
mod routes;
mod run_cache;
mod server;
mod stream;

pub use address::{Address, Token};
pub use html::{freeze, is_built};
pub use run_cache::document;
pub use server::{PageServer, ServeOptions};

/// Rows of the timeline in a document: as many as a chart has points from left to right, and a report of half an hour
/// stays below 1.5 MB.
pub const ROWS: usize = 1_500;
