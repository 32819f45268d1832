//! Rules, and what they make of recordings.

mod hand;
mod neighbours;
mod places;
mod rules;
mod uneven;
