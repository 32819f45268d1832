//! Caveats about a search's result.

mod continued_work;
mod neighbours;
mod uneven;
