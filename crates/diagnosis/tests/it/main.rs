//! Rules, and what they make of recordings.

mod builders;
mod caveats;
mod places;
mod rules;
