//! The peer's table for our header blocks (RFC 7541 section 2.3.2): each constant field is sent in full once
//! per connection, and by its index from then on.

use super::hpack::TABLE_SIZE;
use super::primitives::put_integer;
use std::sync::Arc;

/// The index of the newest entry; older ones follow.
const NEWEST: usize = 62;

/// A field that every arrival sends alike.
pub(super) struct ConstantField {
    /// Encoded for a peer that is to add it to its table.
    pub remember: Arc<[u8]>,
    /// Encoded for a peer that is not.
    pub forget: Vec<u8>,
    /// Its size in the peer's table.
    pub size: usize,
}

/// The peer's table, from which nothing is ever evicted: what has no room is sent in full each time.
pub(super) struct EncoderTable {
    /// Oldest first.
    known: Vec<Arc<[u8]>>,
    size: usize,
    limit: usize,
    /// Whether the peer must still be told of a changed limit.
    changed: bool,
}

impl EncoderTable {
    pub fn new() -> Self {
        Self { known: Vec::new(), size: 0, limit: TABLE_SIZE, changed: false }
    }

    /// The peer's limit has changed.
    pub fn set_limit(&mut self, size: u32) {
        let limit = TABLE_SIZE.min(size as usize);
        if limit != self.limit {
            *self = Self { limit, changed: true, ..Self::new() };
        }
    }

    /// Begins a header block: after a change the table is emptied, then set as large as allowed.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.changed) {
            put_integer(0x20, 5, 0, out);
            put_integer(0x20, 5, self.limit, out);
        }
    }

    /// Appends the field, as short as the peer's table allows.
    pub fn put(&mut self, constant: &ConstantField, out: &mut Vec<u8>) {
        let same = |known: &Arc<[u8]>| Arc::ptr_eq(known, &constant.remember) || *known == constant.remember;
        if let Some(place) = self.known.iter().position(same) {
            put_integer(0x80, 7, NEWEST + self.known.len() - 1 - place, out);
        } else if self.size + constant.size <= self.limit {
            self.size += constant.size;
            self.known.push(constant.remember.clone());
            out.extend_from_slice(&constant.remember);
        } else {
            out.extend_from_slice(&constant.forget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(size: usize, text: &[u8]) -> ConstantField {
        ConstantField { remember: text.into(), forget: b"in full".to_vec(), size }
    }

    fn put(memory: &mut EncoderTable, constant: &ConstantField) -> Vec<u8> {
        let mut out = Vec::new();
        memory.begin(&mut out);
        memory.put(constant, &mut out);
        out
    }

    #[test]
    fn what_fits_is_remembered() {
        let mut memory = EncoderTable::new();
        let (a, b, c) = (constant(4000, b"a"), constant(96, b"b"), constant(33, b"c"));
        assert_eq!(put(&mut memory, &a), b"a");
        assert_eq!(put(&mut memory, &a), [0x80 | 62]);
        assert_eq!(put(&mut memory, &b), b"b");
        assert_eq!(put(&mut memory, &c), b"in full");
        assert_eq!(put(&mut memory, &a), [0x80 | 63]);
        assert_eq!(put(&mut memory, &constant(96, b"b")), [0x80 | 62]);
    }

    #[test]
    fn a_peer_may_change_its_mind() {
        let mut memory = EncoderTable::new();
        let a = constant(40, b"a");
        assert_eq!(put(&mut memory, &a), b"a");
        memory.set_limit(1 << 20);
        assert_eq!(put(&mut memory, &a), [0x80 | 62]);
        memory.set_limit(0);
        assert_eq!(put(&mut memory, &a), b"\x20\x20in full");
        memory.set_limit(64);
        assert_eq!(put(&mut memory, &a), b"\x20\x3f\x21a");
        assert_eq!(put(&mut memory, &a), [0x80 | 62]);
    }
}
