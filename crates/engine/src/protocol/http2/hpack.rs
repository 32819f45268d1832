//! Decodes header blocks (HPACK, RFC 7541), each field only as far as needed.

use super::fields::FIELDS;
use super::huffman;
use super::primitives::{HeaderText, Malformed, read_integer, read_string};
use std::collections::VecDeque;

/// The table size offered to the peer: the protocol's default, which browsers and other load generators keep. A
/// smaller one would make its answers costlier than in reality.
pub(super) const TABLE_SIZE: usize = 4096;
/// An entry's overhead in the table's size (RFC 7541 section 4.1).
pub(super) const ENTRY_SIZE: usize = 32;
/// A block that expands to more text than this, before decompression, is abuse, however short it is.
const FIELDS_LIMIT: usize = 256 * 1024;

/// A field that the peer refers to by index.
struct Entry {
    /// Offset of its name, counted from the first byte ever kept; the value follows.
    start: usize,
    name: usize,
    value: usize,
    /// Whether name and value are compressed.
    huffman: (bool, bool),
}

impl Entry {
    /// Its size for the peer, or less: of compressed text only the minimum length is known.
    fn size(&self) -> usize {
        let least = |length, huffman| if huffman { length * 8 / huffman::LONGEST } else { length };
        least(self.name, self.huffman.0) + least(self.value, self.huffman.1) + ENTRY_SIZE
    }
}

/// The table that the peer's header blocks refer to.
///
/// Kept as received: nginx has every field of every answer added, and never refers to one, so decoding them all
/// would cost more than the rest of the answer. Of the entries' size only a lower bound is then known, and some
/// stay longer than the peer keeps them. That does no harm, as indices count from the newest.
pub(super) struct Decoder {
    /// Newest first.
    entries: VecDeque<Entry>,
    /// The entries' text, oldest first, after some of removed entries.
    text: Vec<u8>,
    /// Bytes already removed from `text`.
    dropped_bytes: usize,
    /// The size of all entries.
    size: usize,
    limit: usize,
}

impl Decoder {
    pub fn new() -> Self {
        Self { entries: VecDeque::new(), text: Vec::new(), dropped_bytes: 0, size: 0, limit: TABLE_SIZE }
    }

    /// Calls `each` with the name and value of every field. Fails if there is more text than [`FIELDS_LIMIT`]:
    /// one byte may stand for a field of thousands.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        mut each: impl FnMut(&HeaderText<'_>, &HeaderText<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let mut remaining = FIELDS_LIMIT;
        let mut each = |name: &HeaderText<'_>, value: &HeaderText<'_>| {
            let left = remaining.checked_sub(name.bytes.len() + value.bytes.len());
            remaining = left.ok_or_else(|| format!("headers of more than {FIELDS_LIMIT} bytes"))?;
            each(name, value)
        };
        while let Some(first) = block.first().copied() {
            match first {
                0x80.. => {
                    let (name, value) = self.field(read_integer(&mut block, 7)?)?;
                    each(&name, &value)?;
                }
                0x40.. => {
                    let (name, value) = (self.name(&mut block, 6)?, read_string(&mut block)?);
                    each(&self.name_text(&name), &value)?;
                    self.insert(&name, &value);
                }
                0x20.. => {
                    self.limit = read_integer(&mut block, 5)?;
                    if self.limit > TABLE_SIZE {
                        return Err(format!("a header table of {} bytes, {TABLE_SIZE} at most", self.limit));
                    }
                    self.make_room(0);
                }
                _ => {
                    let (name, value) = (self.name(&mut block, 4)?, read_string(&mut block)?);
                    each(&self.name_text(&name), &value)?;
                }
            }
        }
        Ok(())
    }

    /// The name of a field whose value follows.
    fn name<'a>(&self, block: &mut &'a [u8], bits: u32) -> Result<FieldName<'a>, Malformed> {
        let index = match read_integer(block, bits)? {
            0 => return Ok(FieldName::Literal(read_string(block)?)),
            index => index - 1,
        };
        match FIELDS.get(index) {
            Some((name, _)) => Ok(FieldName::Literal(HeaderText::plain(name.as_bytes()))),
            None if index - FIELDS.len() < self.entries.len() => Ok(FieldName::Indexed(index - FIELDS.len())),
            None => Err(unknown_index(index + 1)),
        }
    }

    fn name_text<'a>(&'a self, name: &FieldName<'a>) -> HeaderText<'a> {
        match *name {
            FieldName::Literal(text) => text,
            FieldName::Indexed(index) => self.entry_text(&self.entries[index]).0,
        }
    }

    /// A field by its index in the static table, continued by the dynamic one.
    fn field(&self, index: usize) -> Result<(HeaderText<'_>, HeaderText<'_>), Malformed> {
        let place = index.checked_sub(1).ok_or_else(|| unknown_index(index))?;
        if let Some((name, value)) = FIELDS.get(place) {
            return Ok((HeaderText::plain(name.as_bytes()), HeaderText::plain(value.as_bytes())));
        }
        let entry = self.entries.get(place - FIELDS.len()).ok_or_else(|| unknown_index(index))?;
        Ok(self.entry_text(entry))
    }

    fn entry_text(&self, entry: &Entry) -> (HeaderText<'_>, HeaderText<'_>) {
        let (name, rest) = self.text[entry.start - self.dropped_bytes..].split_at(entry.name);
        (
            HeaderText { bytes: name, huffman: entry.huffman.0 },
            HeaderText { bytes: &rest[..entry.value], huffman: entry.huffman.1 },
        )
    }

    /// An entry larger than the table empties it, which is no error.
    fn insert(&mut self, name: &FieldName<'_>, value: &HeaderText<'_>) {
        let text = self.name_text(name);
        let entry = Entry {
            start: self.dropped_bytes + self.text.len(),
            name: text.bytes.len(),
            value: value.bytes.len(),
            huffman: (text.huffman, value.huffman),
        };
        if entry.size() > self.limit {
            return self.make_room(entry.size());
        }
        match *name {
            FieldName::Literal(text) => self.text.extend_from_slice(text.bytes),
            FieldName::Indexed(index) => {
                let start = self.entries[index].start - self.dropped_bytes;
                self.text.extend_from_within(start..start + entry.name);
            }
        }
        self.text.extend_from_slice(value.bytes);
        self.make_room(entry.size());
        self.size += entry.size();
        self.entries.push_front(entry);
    }

    fn make_room(&mut self, size: usize) {
        while self.size + size > self.limit
            && let Some(oldest) = self.entries.pop_back()
        {
            self.size -= oldest.size();
            let useless = oldest.start + oldest.name + oldest.value - self.dropped_bytes;
            if useless >= TABLE_SIZE || self.entries.is_empty() && size > self.limit {
                self.text.drain(..useless);
                self.dropped_bytes += useless;
            }
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Decoder {
    /// Bytes kept for later fields.
    pub fn held(&self) -> usize {
        self.text.len() + self.entries.len() * size_of::<Entry>()
    }
}

/// A field name in a block: literal, or by reference.
enum FieldName<'a> {
    Literal(HeaderText<'a>),
    /// The name of this entry of the dynamic table.
    Indexed(usize),
}

fn unknown_index(index: usize) -> Malformed {
    format!("header field number {index}, which there is not")
}

#[cfg(test)]
mod tests {
    use super::super::primitives::{put_integer, put_string};
    use super::*;
    use proptest::prelude::*;

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> Result<String, Malformed> {
        let mut all = String::new();
        decoder.decode(block, |name, value| {
            let text = |text: &HeaderText<'_>| {
                text.decode(&mut Vec::new()).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            all += &format!("{}: {}\n", text(name)?, text(value)?);
            Ok(())
        })?;
        Ok(all)
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    /// RFC 7541 appendix C.3: three requests on one connection.
    #[test]
    fn remembers_what_the_standard_shows() {
        let mut decoder = Decoder::new();
        let common = ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n";
        for (block, expected) in [
            ("828684410f7777772e6578616d706c652e636f6d", common.to_owned()),
            ("828684be58086e6f2d6361636865", format!("{common}cache-control: no-cache\n")),
            (
                "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
                ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value\n"
                    .to_owned(),
            ),
        ] {
            assert_eq!(decoded(&mut decoder, &bytes(block)), Ok(expected));
        }
        assert_eq!((decoder.entries.len(), decoder.size), (3, 164));
    }

    /// RFC 7541 appendix C.5 and C.6: answers with a table of 256 bytes that evicts entries, without and with
    /// compression.
    #[test]
    fn forgets_what_has_no_room() {
        let expected = [
            ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
            ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com\n",
            ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com\n\
             content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n",
        ];
        let plain = [
            "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
            "4803333037c1c0bf",
            "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
        ];
        let compressed = [
            "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
            "4883640effc1c0bf",
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        ];
        for blocks in [plain, compressed] {
            let mut decoder = Decoder { limit: 256, ..Decoder::new() };
            for (block, expected) in blocks.iter().zip(expected) {
                assert_eq!(decoded(&mut decoder, &bytes(block)).as_deref(), Ok(expected));
            }
            assert!(decoder.size <= 256);
        }
        let mut decoder = Decoder { limit: 256, ..Decoder::new() };
        let counts = plain.map(|block| {
            decoded(&mut decoder, &bytes(block)).expect("valid");
            (decoder.entries.len(), decoder.size)
        });
        assert_eq!(counts, [(4, 222), (4, 222), (3, 215)]);
    }

    /// A long-lived connection's memory does not grow.
    #[test]
    fn text_that_is_gone_is_dropped() {
        let mut decoder = Decoder::new();
        for number in 0..10_000 {
            let mut block = b"\x40".to_vec();
            put_string(b"x-name", &mut block);
            put_string(format!("value {number}").as_bytes(), &mut block);
            // The newest, and a new one with its name.
            block.extend_from_slice(b"\xbe\x7e\x01y\xbf");
            let text = decoded(&mut decoder, &block).expect("valid");
            assert_eq!(
                text,
                format!(
                    "x-name: value {number}\nx-name: value {number}\nx-name: y\nx-name: value {number}\n"
                )
            );
        }
        assert!(decoder.text.capacity() < 4 * TABLE_SIZE, "{}", decoder.text.capacity());
    }

    #[test]
    fn what_is_no_block_is_said() {
        for (block, why) in [
            ("80", "number 0"),
            ("be", "number 62"),
            ("ff", "ends within a field"),
            ("ffffffffffff", "an oversized number"),
            ("4005616263", "ends within a string"),
            ("3fe21f", "4097 bytes"),
        ] {
            let error = decoded(&mut Decoder::new(), &bytes(block)).expect_err(why);
            assert!(error.contains(why), "{block}: {error}");
        }
    }

    /// A block of bytes that each stand for a field of 15 KB took seconds to decode: a server could have held
    /// up the loop with frames of 16 KB.
    #[test]
    fn a_short_block_that_means_a_lot_is_refused() {
        let mut block = b"\x48".to_vec();
        // All ones are the end symbol; zeroes are `0`, five bits each.
        put_integer(0x80, 7, 15_000, &mut block);
        block.resize(block.len() + 15_000, 0);
        block.resize(block.len() + 40, 0xbe);
        let mut fields = 0;
        let read = Decoder::new().decode(&block, |_, value| {
            fields += 1;
            value.decode(&mut Vec::new()).map(|_| ())
        });
        assert_eq!(read, Err(format!("headers of more than {FIELDS_LIMIT} bytes")));
        assert!(fields < 20, "{fields}");
    }

    #[test]
    fn an_entry_larger_than_the_table_empties_it() {
        let mut decoder = Decoder { limit: 64, ..Decoder::new() };
        assert_eq!(decoded(&mut decoder, b"\x40\x01a\x01b"), Ok("a: b\n".to_owned()));
        let large = [&b"\x40\x01a\x40"[..], &[b'x'; 64]].concat();
        assert!(decoded(&mut decoder, &large).is_ok());
        assert_eq!((decoder.entries.len(), decoder.size, decoder.text.len()), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(block in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&mut Decoder::new(), &block);
        }
    }
}
