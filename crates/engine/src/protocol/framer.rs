//! Cuts what comes, however the network has cut it, into what a protocol is made of.

/// What has come of one that is not whole yet; copied only where one comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Framer {
    /// One that has begun in an earlier read.
    partial: Vec<u8>,
    /// Whether that has been given out.
    given: bool,
}

impl Framer {
    /// Takes the next one from the front of `bytes`; none if it is not whole. `needed`: how long it is that begins so, as far
    /// as can be told.
    pub fn next<'a, 'b: 'a, E>(
        &'a mut self,
        bytes: &mut &'b [u8],
        needed: impl Fn(&[u8]) -> Result<usize, E>,
    ) -> Result<Option<&'a [u8]>, E> {
        if std::mem::take(&mut self.given) {
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
                self.given = true;
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
    /// Bytes of one that is not whole yet.
    pub fn held(&self) -> usize {
        self.partial.len()
    }
}
