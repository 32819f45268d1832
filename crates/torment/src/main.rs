//! torment.
fn main() {}
