//! engine
mod answer;
