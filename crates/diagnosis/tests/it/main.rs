//! Rules, and what they make of recordings.

mod rules;
