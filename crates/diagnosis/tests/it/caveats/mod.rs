//! Why what a search came to may be doubted.

mod continued_work;
mod neighbours;
mod uneven;
