//! Arrival processes: when is the n-th request due.
