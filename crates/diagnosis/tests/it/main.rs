//! Rules, and what they make of recordings.

mod hand;
mod places;
mod rules;
mod uneven;
