//! The contents of an answer, kept only if a step of a flow needs them.

/// Longer bodies are cut: what a step looks for is near the start, or in no page worth loading.
pub(crate) const BODY_LIMIT: usize = 1 << 20;

/// Headers and body of one answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    /// In the order received; names as received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Without chunk lines; at most [`BODY_LIMIT`] bytes.
    pub body: Vec<u8>,
    /// Whether the body was longer than that.
    pub truncated: bool,
}

impl Content {
    pub fn append(&mut self, bytes: &[u8]) {
        let room = BODY_LIMIT - self.body.len();
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.truncated |= bytes.len() > room;
    }

    /// The values of a header, by its case-insensitive name.
    pub fn header(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }
}
