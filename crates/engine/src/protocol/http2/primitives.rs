//! The primitives of header blocks: integers and strings (RFC 7541 section 5).

use super::huffman;

/// Why the bytes are no header block, in a few words.
pub(super) type Malformed = String;

/// A name or value as received.
#[derive(Clone, Copy)]
pub(super) struct HeaderText<'a> {
    pub bytes: &'a [u8],
    pub huffman: bool,
}

impl<'a> HeaderText<'a> {
    pub fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, huffman: false }
    }

    /// Its characters; decoded into `scratch` if compressed.
    pub fn decode<'b>(&self, scratch: &'b mut Vec<u8>) -> Result<&'b [u8], Malformed>
    where
        'a: 'b,
    {
        if !self.huffman {
            return Ok(self.bytes);
        }
        scratch.clear();
        huffman::decode(self.bytes, scratch)?;
        Ok(scratch)
    }

    /// Whether it equals this name; `compressed` is the name's Huffman code.
    pub fn matches(&self, name: &[u8], compressed: &[u8]) -> bool {
        self.bytes == if self.huffman { compressed } else { name }
    }
}

/// Reads an integer that begins in the lowest `bits` of the first byte (RFC 7541 section 5.1).
pub(super) fn read_integer(block: &mut &[u8], bits: u32) -> Result<usize, Malformed> {
    let mut next = || {
        let (first, rest) = block.split_first().ok_or("a header block that ends within a field")?;
        *block = rest;
        Ok::<_, Malformed>(*first)
    };
    let most = (1 << bits) - 1;
    let mut value = usize::from(next()?) & most;
    if value < most {
        return Ok(value);
    }
    // Four more bytes hold more than any length allowed in a block.
    for shift in [0, 7, 14, 21] {
        let byte = next()?;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("an oversized number in a header block".to_owned())
}

/// Reads a string, without decompressing it (RFC 7541 section 5.2).
pub(super) fn read_string<'a>(block: &mut &'a [u8]) -> Result<HeaderText<'a>, Malformed> {
    let huffman = block.first().is_some_and(|first| first & 0x80 != 0);
    let length = read_integer(block, 7)?;
    let (bytes, rest) = block.split_at_checked(length).ok_or("a header block that ends within a string")?;
    *block = rest;
    Ok(HeaderText { bytes, huffman })
}

/// Appends an integer in the lowest `bits` of a byte whose other bits are `first`, and in as many further bytes
/// as it takes.
pub(super) fn put_integer(first: u8, bits: u32, value: usize, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if value < most {
        out.push(first | value as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a string, uncompressed.
pub(super) fn put_string(text: &[u8], out: &mut Vec<u8>) {
    put_integer(0, 7, text.len(), out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_come_back(value in 0_usize..1 << 28, bits in 4_u32..8) {
            let mut out = Vec::new();
            put_integer(0, bits, value, &mut out);
            prop_assert_eq!(read_integer(&mut out.as_slice(), bits), Ok(value));
        }
    }
}
