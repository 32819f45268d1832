//! The built-in service with known truths.
