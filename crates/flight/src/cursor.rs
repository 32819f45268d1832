//! Numbers and texts as they stand in a chunk. None where the bytes end or mean nothing.

use std::borrow::Cow;

/// A place in bytes, from which they are taken one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// A text, where it stands or where else it does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Text<'a> {
    Null,
    Here(Cow<'a, str>),
    /// The key of a constant that is a text.
    Constant(i64),
}

/// Names and reasons are short; of a longer text the beginning is kept, so that nobody can make us hold it many times.
const MOST_TEXT: usize = 2048;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    /// Seven bits a byte, the lowest first; the ninth byte has eight.
    pub fn long(&mut self) -> Option<i64> {
        let mut value = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value.cast_signed());
            }
        }
        Some((value | u64::from(self.byte()?) << 56).cast_signed())
    }

    /// How many of something follow, each of which takes a byte at least.
    pub fn count(&mut self) -> Option<usize> {
        usize::try_from(self.long()?).ok().filter(|&count| count <= self.left())
    }

    pub fn text(&mut self) -> Option<Text<'a>> {
        Some(match self.byte()? {
            0 => Text::Null,
            1 => Text::Here(Cow::Borrowed("")),
            2 => Text::Constant(self.long()?),
            3 => {
                let count = self.count()?;
                Text::Here(String::from_utf8_lossy(beginning(self.take(count)?)))
            }
            4 => {
                let count = self.count()?;
                let mut units = Vec::with_capacity(count.min(MOST_TEXT));
                for _ in 0..count {
                    // Not more than 16 bits, and what is above means nothing.
                    let unit = self.long()? as u16;
                    if units.len() < MOST_TEXT {
                        units.push(unit);
                    }
                }
                Text::Here(Cow::Owned(String::from_utf16_lossy(&units)))
            }
            5 => {
                let count = self.count()?;
                Text::Here(beginning(self.take(count)?).iter().map(|&byte| char::from(byte)).collect())
            }
            _ => return None,
        })
    }
}

fn beginning(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(MOST_TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: PartialEq + std::fmt::Debug>(
        bytes: &'static [u8],
        read: fn(&mut Cursor<'static>) -> Option<T>,
        expected: Option<T>,
    ) {
        let mut cursor = Cursor::new(bytes, 0);
        assert_eq!(read(&mut cursor), expected, "{bytes:?}");
        if expected.is_some() {
            assert_eq!(cursor.left(), 0, "{bytes:?}");
        }
    }

    #[test]
    fn integers_of_every_length() {
        check(&[0x05], Cursor::long, Some(5));
        check(&[0x85, 0xB0, 0x03], Cursor::long, Some(55_301));
        // Padded, as sizes are that were left open.
        check(&[0x85, 0x80, 0x80, 0x00], Cursor::long, Some(5));
        check(&[0xFF; 9], Cursor::long, Some(-1));
        check(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80], Cursor::long, Some(i64::MIN));
        check(&[0xFF; 8], Cursor::long, None);
    }

    #[test]
    fn texts_of_every_kind() {
        let here = |text: &'static str| Some(Text::Here(Cow::Borrowed(text)));
        check(&[0], Cursor::text, Some(Text::Null));
        check(&[1], Cursor::text, here(""));
        check(&[2, 7], Cursor::text, Some(Text::Constant(7)));
        check(b"\x03\x03f\xC3\xBC", Cursor::text, here("fü"));
        check(&[4, 2, b'f', 0xFC, 0x01], Cursor::text, here("fü"));
        check(b"\x05\x02f\xFC", Cursor::text, here("fü"));
        check(b"\x03\x04abc", Cursor::text, None);
        check(&[3, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], Cursor::text, None);
        check(&[6], Cursor::text, None);
    }
}
