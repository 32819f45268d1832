use serde::{Deserialize, Serialize};

/// Text with placeholders, rendered anew for each arrival.
///
/// What the k-th arrival sends depends on k and the seed alone, so that W workers together send
/// exactly what one would have sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Template {
    /// Literal and varying parts in order.
    pub pieces: Vec<Piece>,
}

/// One part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Piece {
    /// Sent as it is.
    Literal(Vec<u8>),
    /// `{1..1000}`: one after the other, then from the start again.
    Sequence {
        /// First value.
        from: i64,
        /// Last value, included.
        to: i64,
    },
    /// `{random:1..1000}`: each equally likely.
    Random {
        /// Smallest value.
        from: i64,
        /// Largest value, included.
        to: i64,
    },
    /// `{uuid}`: a version 4 UUID made from the seed.
    Uuid,
    /// `{counter}`: the number of the arrival, from 0, across the whole run.
    Counter,
    /// `{file:names.csv:column}`: the column's values one after the other, then from the start again.
    Column {
        /// The file as written in the plan.
        file: String,
        /// The column's name in the file's first line.
        column: String,
        /// Its values; empty until [`crate::Plan::bind`] has read the file.
        #[serde(skip)]
        values: Vec<String>,
    },
}
