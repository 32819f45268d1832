//! Why what a search came to may be doubted.

mod afterwards;
mod neighbours;
mod uneven;
