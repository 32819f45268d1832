//! Rules, and what they make of recordings.

mod afterwards;
mod hand;
mod neighbours;
mod places;
mod rules;
mod uneven;
