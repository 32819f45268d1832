//! Conducts a run or a search and emits events.
