//! Several machines, simulated: their shares, their books, and what they tell each other.

mod books;
mod machine;
mod merge;
mod shares;
mod wire;
