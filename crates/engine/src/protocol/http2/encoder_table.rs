//! The peer's table for our header blocks (RFC 7541 section 2.3.2): each constant field is sent in full once
//! per connection, and by its index from then on.

use super::hpack::TABLE_SIZE;
use super::primitives::put_integer;
use std::sync::Arc;

/// The index of the newest entry; older ones follow.
const FIRST_DYNAMIC_INDEX: usize = 62;

/// A field that every arrival sends alike.
pub(super) struct ConstantField {
    /// Encoded for a peer that is to add it to its table.
    pub indexed: Arc<[u8]>,
    /// Encoded for a peer that is not.
    pub literal: Vec<u8>,
    /// Its size in the peer's table.
    pub size: usize,
}

/// The peer's table, from which nothing is ever evicted: what has no room is sent in full each time.
pub(super) struct EncoderTable {
    /// Oldest first.
    entries: Vec<Arc<[u8]>>,
    size: usize,
    limit: usize,
    /// Whether the peer must still be told of a changed limit.
    limit_changed: bool,
}

impl EncoderTable {
    pub fn new() -> Self {
        Self { entries: Vec::new(), size: 0, limit: TABLE_SIZE, limit_changed: false }
    }

    /// The peer's limit has changed.
    pub fn set_limit(&mut self, size: u32) {
        let limit = TABLE_SIZE.min(size as usize);
        if limit != self.limit {
            *self = Self { limit, limit_changed: true, ..Self::new() };
        }
    }

    /// Begins a header block: after a change the table is emptied, then set as large as allowed.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.limit_changed) {
            put_integer(0x20, 5, 0, out);
            put_integer(0x20, 5, self.limit, out);
        }
    }

    /// Appends the field, as short as the peer's table allows.
    pub fn put(&mut self, constant: &ConstantField, out: &mut Vec<u8>) {
        let same = |known: &Arc<[u8]>| Arc::ptr_eq(known, &constant.indexed) || *known == constant.indexed;
        if let Some(index) = self.entries.iter().position(same) {
            put_integer(0x80, 7, FIRST_DYNAMIC_INDEX + self.entries.len() - 1 - index, out);
        } else if self.size + constant.size <= self.limit {
            self.size += constant.size;
            self.entries.push(constant.indexed.clone());
            out.extend_from_slice(&constant.indexed);
        } else {
            out.extend_from_slice(&constant.literal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(size: usize, text: &[u8]) -> ConstantField {
        ConstantField { indexed: text.into(), literal: b"in full".to_vec(), size }
    }

    fn put(table: &mut EncoderTable, constant: &ConstantField) -> Vec<u8> {
        let mut out = Vec::new();
        table.begin(&mut out);
        table.put(constant, &mut out);
        out
    }

    #[test]
    fn what_fits_is_remembered() {
        let mut table = EncoderTable::new();
        let (a, b, c) = (constant(4000, b"a"), constant(96, b"b"), constant(33, b"c"));
        assert_eq!(put(&mut table, &a), b"a");
        assert_eq!(put(&mut table, &a), [0x80 | 62]);
        assert_eq!(put(&mut table, &b), b"b");
        assert_eq!(put(&mut table, &c), b"in full");
        assert_eq!(put(&mut table, &a), [0x80 | 63]);
        assert_eq!(put(&mut table, &constant(96, b"b")), [0x80 | 62]);
    }

    #[test]
    fn a_peer_may_change_its_mind() {
        let mut table = EncoderTable::new();
        let a = constant(40, b"a");
        assert_eq!(put(&mut table, &a), b"a");
        table.set_limit(1 << 20);
        assert_eq!(put(&mut table, &a), [0x80 | 62]);
        table.set_limit(0);
        assert_eq!(put(&mut table, &a), b"\x20\x20in full");
        table.set_limit(64);
        assert_eq!(put(&mut table, &a), b"\x20\x3f\x21a");
        assert_eq!(put(&mut table, &a), [0x80 | 62]);
    }
}
