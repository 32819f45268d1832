//! HPACK's Huffman code (RFC 7541 appendix B), decoding only: we send uncompressed.

/// Code length of each symbol, in bits; the last one ends a string and must not appear in one. The code is
/// canonical, so the lengths define it.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28,
    28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6,
    6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7,
    8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7,
    15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24,
    23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23,
    23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26,
    26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20,
    21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27,
    27, 27, 26, 30,
];
const END: u16 = 256;
const SHORTEST: usize = 5;
pub(super) const LONGEST: usize = 30;

/// The symbols in code order: by length, then symbol.
struct CodeTable {
    symbols: [u16; 257],
    /// For each length, the bound that 32 bits stay below if they begin with a code of at most this length.
    below: [u64; LONGEST + 1],
    /// For each length, what turns a code into an index into `symbols`.
    offset: [i64; LONGEST + 1],
}

static CODE: CodeTable = code();

const fn code() -> CodeTable {
    let mut table = CodeTable { symbols: [0; 257], below: [0; LONGEST + 1], offset: [0; LONGEST + 1] };
    let (mut index, mut next, mut length) = (0, 0_u64, 1);
    while length <= LONGEST {
        next <<= 1;
        table.offset[length] = index as i64 - next as i64;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                table.symbols[index] = symbol as u16;
                index += 1;
                next += 1;
            }
            symbol += 1;
        }
        table.below[length] = next << (32 - length);
        length += 1;
    }
    table
}

/// Appends the decoded string.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut bytes = bytes.iter();
    // Bits not yet decoded, the next one topmost, and their count.
    let (mut bits, mut count) = (0_u64, 0);
    loop {
        while count <= 56
            && let Some(byte) = bytes.next()
        {
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        let window = bits >> 32;
        let length = (SHORTEST..LONGEST).find(|l| window < CODE.below[*l]).unwrap_or(LONGEST);
        if length > count {
            // The last byte is padded with the start of the end symbol: ones, fewer than eight.
            let filled = count < 8 && bits == !(u64::MAX >> count);
            return if filled { Ok(()) } else { Err("a Huffman string that ends within a symbol") };
        }
        let index = (window >> (32 - length)) as i64 + CODE.offset[length];
        let symbol = CODE.symbols[index as usize];
        if symbol == END {
            return Err("a Huffman string that holds its end");
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(text: &[u8]) -> Vec<u8> {
        let (mut bits, mut count, mut out) = (0_u64, 0, Vec::new());
        for symbol in text {
            let length = usize::from(LENGTHS[usize::from(*symbol)]);
            let index = CODE.symbols.iter().position(|s| *s == u16::from(*symbol)).expect("all are there");
            bits = bits << length | (index as i64 - CODE.offset[length]) as u64;
            count += length;
            while count >= 8 {
                count -= 8;
                out.push((bits >> count) as u8);
            }
        }
        if count > 0 {
            out.push((bits << (8 - count)) as u8 | 0xff >> count);
        }
        out
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| out)
    }

    /// RFC 7541 appendix C.4 and C.6.
    #[test]
    fn decodes_what_the_standard_shows() {
        for (bytes, text) in [
            (&b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"[..], "www.example.com"),
            (b"\xa8\xeb\x10\x64\x9c\xbf", "no-cache"),
            (b"\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", "custom-value"),
            (b"\x64\x02", "302"),
            (
                b"\xd0\x7a\xbe\x94\x10\x54\xd4\x44\xa8\x20\x05\x95\x04\x0b\x81\x66\xe0\x82\xa6\x2d\x1b\xff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            (b"", ""),
        ] {
            assert_eq!(decoded(bytes), Ok(text.as_bytes().to_vec()), "{text}");
        }
    }

    #[test]
    fn what_is_no_string_is_said() {
        for (bytes, why) in [
            (&b"\xff\xff\xff\xff"[..], "holds its end"),
            (b"\x64\x02\xff", "ends within"),
            (b"\x06", "ends within"),
            (b"\xff", "ends within"),
        ] {
            assert!(decoded(bytes).expect_err(why).contains(why), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decoded(&encode(&text)), Ok(text));
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decoded(&bytes);
        }
    }
}
