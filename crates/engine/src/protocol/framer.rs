//! Splits received bytes, however the network has cut them, into a protocol's units.

/// Buffers an incomplete unit; copies only if one arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Framer {
    /// A unit begun in an earlier read.
    partial: Vec<u8>,
    /// Whether it has been returned.
    returned: bool,
}

impl Framer {
    /// Takes the next unit from the front of `bytes`; `None` if incomplete. `needed`: the length of a unit that
    /// begins like this, as far as is known.
    pub fn next<'a, 'b: 'a, E>(
        &'a mut self,
        bytes: &mut &'b [u8],
        needed: impl Fn(&[u8]) -> Result<usize, E>,
    ) -> Result<Option<&'a [u8]>, E> {
        if std::mem::take(&mut self.returned) {
            self.partial.clear();
        }
        if self.partial.is_empty()
            && let Some((whole, rest)) = bytes.split_at_checked(needed(bytes)?)
        {
            *bytes = rest;
            return Ok(Some(whole));
        }
        loop {
            let missing = needed(&self.partial)? - self.partial.len();
            if missing == 0 {
                self.returned = true;
                return Ok(Some(&self.partial));
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            self.partial.extend_from_slice(piece);
            *bytes = rest;
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Framer {
    /// Bytes of an incomplete unit.
    pub fn held(&self) -> usize {
        self.partial.len()
    }
}
