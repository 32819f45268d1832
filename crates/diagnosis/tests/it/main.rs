//! The rules applied to recordings.

mod builders;
mod caveats;
mod places;
mod rules;
