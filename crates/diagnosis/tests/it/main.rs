//! Rules, and what they make of recordings.

mod hand;
mod rules;
