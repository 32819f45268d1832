//! The one web page: served live, or frozen into one self-contained HTML file.
//!
//! The page is `ui/`, built by npm before this crate (`make page`); without that a short text takes its place. It
//! shows a [`view::document::Document`], which carries the meaning; this crate delivers it.
//!
//! When served, a run is read from the store, as by any other process, whether it goes on in this process, in
//! another, or is over. The maker of a run tells this crate only its id and its end, and never waits for it: a
//! stalled browser blocks its own connection and nothing else. Nothing here writes.

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

/// Rows of the timeline in a document: as many as a chart has points horizontally; a report of half an hour stays
/// below 1.5 MB.
pub const ROWS: usize = 1_500;
