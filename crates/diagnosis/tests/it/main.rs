//! Rules, and what they make of recordings.

mod caveats;
mod hand;
mod places;
mod rules;
