//! A run as a page: what is said, in order of its weight, and what is drawn beside it, as a [`Document`](crate::document::Document).

mod again;
mod chain;
mod decided;
mod distribution;
mod draw;
mod front;
mod heat;
mod now;
mod pages;
pub(crate) mod pictures;
mod quick;
mod ranks;
mod rows;
mod second;
mod sections;
mod seen;
mod thin;
mod written;

pub use now::{GroupNow, Part, TreeNow};
pub use pages::Pages;
pub(crate) use pictures::{DOWN, UP};
