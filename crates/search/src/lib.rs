//! The breaking point: proposes a load, takes a result.
