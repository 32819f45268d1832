//! A histogram in the bytes of the HDR V2 format.
//!
//! A header, then a number for every bucket in ascending order, as LEB128 whose lowest bit is the sign: the bucket's count, or, if
//! negative, the number of consecutive empty ones.

use super::{DIGITS, Hdr, add, empty};
use std::ops::Range;
use std::sync::OnceLock;

/// Magic number of the uncompressed format.
const COOKIE: u32 = 0x1c84_9313;
/// Payload length in the header.
const LENGTH: Range<usize> = 4..8;
/// The fields that are the same in all of ours: no offset, digits, least time;
const LAYOUT: Range<usize> = 8..24;
/// the largest time there is room for;
pub(super) const LARGEST: Range<usize> = 24..32;
/// and the factor of all times, which is 1.
const FACTOR: Range<usize> = 32..40;
/// Header length.
const HEADER: usize = 40;
/// HDR reads no header with less.
pub(super) const MIN_LARGEST: u64 = 2;
/// This many buckets are as wide as those of half their times, for three digits.
const BUCKETS_PER_OCTAVE: u64 = 1024;
/// One for every time up to `i64::MAX`.
const BUCKETS: u64 = 54 * BUCKETS_PER_OCTAVE;

/// One that was read, and can be opened.
#[derive(Debug, Clone)]
pub(super) struct PackedHistogram {
    /// Encoded counts.
    numbers: Vec<u8>,
    count: u64,
    /// Opened once more than its buckets is needed.
    unpacked: OnceLock<Hdr>,
}

impl PackedHistogram {
    /// None if it is of another kind, truncated, or its counts overflow. Takes as much memory as its bytes.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (header, body) = bytes.split_at_checked(HEADER)?;
        let layout = [[0; 4], u32::from(DIGITS).to_be_bytes(), [0; 4], 1_u32.to_be_bytes()];
        let is_ours = header[..LENGTH.start] == COOKIE.to_be_bytes()
            && header[LAYOUT] == *layout.as_flattened()
            && header[FACTOR] == 1_f64.to_be_bytes();
        let length = u32::from_be_bytes(header[LENGTH].try_into().ok()?);
        let numbers = body.get(..length as usize).filter(|_| is_ours)?;
        let mut buckets = Buckets { rest: numbers, nth: 0 };
        let mut count = 0_u64;
        for (nth, held) in &mut buckets {
            count = count.checked_add(held).filter(|_| nth < BUCKETS)?;
        }
        let is_whole = buckets.rest.is_empty();
        is_whole.then(|| Self { numbers: numbers.to_vec(), count, unpacked: OnceLock::new() })
    }

    /// Number of times recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds its counts to `to`.
    pub fn add_to(&self, to: &mut Hdr) {
        Buckets { rest: &self.numbers, nth: 0 }.for_each(|(nth, held)| add(to, lowest_value(nth), held));
    }

    /// With a count for every bucket.
    pub fn unpacked(&self) -> &Hdr {
        self.unpacked.get_or_init(|| {
            let mut open = empty();
            self.add_to(&mut open);
            open
        })
    }
}

/// The least time of a bucket, counted from 0.
fn lowest_value(nth: u64) -> u64 {
    if nth < BUCKETS_PER_OCTAVE {
        nth
    } else {
        (nth % BUCKETS_PER_OCTAVE + BUCKETS_PER_OCTAVE) << (nth / BUCKETS_PER_OCTAVE - 1)
    }
}

/// The non-empty buckets: index and count. Ends before a truncated number.
struct Buckets<'n> {
    rest: &'n [u8],
    /// Index of the next number.
    nth: u64,
}

impl Iterator for Buckets<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        loop {
            let (number, rest) = read_number(self.rest)?;
            let nth = self.nth;
            self.rest = rest;
            self.nth = nth.saturating_add(number.min(-1).unsigned_abs());
            if number > 0 {
                return Some((nth, number.unsigned_abs()));
            }
        }
    }
}

/// The first number, and what follows it; none if truncated.
fn read_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    // Nearly all are one or two bytes.
    let (read, rest) = match bytes {
        [first @ ..0x80, rest @ ..] => (u64::from(*first), rest),
        [first, second @ ..0x80, rest @ ..] => (u64::from(first & 0x7f) | u64::from(*second) << 7, rest),
        _ => read_long_number(bytes)?,
    };
    Some(((read >> 1) as i64 ^ -((read & 1) as i64), rest))
}

/// A number of any length, its sign lowest. All bits of the ninth byte count.
fn read_long_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut read = 0;
    for (nth, byte) in bytes.iter().enumerate() {
        let (is_last, bits) = if nth == 8 { (true, *byte) } else { (*byte < 0x80, byte & 0x7f) };
        read |= u64::from(bits) << (7 * nth);
        if is_last {
            return Some((read, &bytes[nth + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use proptest::prelude::*;
    use units::Nanos;

    fn of(times: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|time| histogram.record(Nanos(*time)));
        histogram
    }

    fn bytes(numbers: &[u8]) -> Vec<u8> {
        let mut bytes = of(&[]).to_bytes().expect("it has a header");
        bytes.truncate(HEADER);
        bytes[LENGTH].copy_from_slice(&(numbers.len() as u32).to_be_bytes());
        bytes.extend(numbers);
        bytes
    }

    /// Times of every length, and many in one bucket.
    fn times() -> impl Strategy<Value = Vec<u64>> {
        let time = (0_u32..64, any::<u64>()).prop_map(|(length, bits)| bits >> length);
        proptest::collection::vec((time, 1_usize..4), 0..200).prop_map(|times| {
            times.into_iter().flat_map(|(time, count)| std::iter::repeat_n(time, count)).collect()
        })
    }

    proptest! {
        #[test]
        fn it_is_read_as_hdr_itself_reads_it(times in times()) {
            let bytes = of(&times).to_bytes().expect("it has a header");
            let packed = PackedHistogram::read(&bytes).expect("it is one of ours");
            let theirs: Hdr = Deserializer::new().deserialize(&mut bytes.as_slice()).expect("it is one");
            prop_assert_eq!(packed.count(), theirs.len());
            prop_assert!(*packed.unpacked() == theirs);
            prop_assert_eq!((packed.unpacked().min(), packed.unpacked().max()), (theirs.min(), theirs.max()));
        }

        #[test]
        fn merged_unopened_it_is_the_same(first in times(), second in times()) {
            let back = |times: &[u64]| Histogram::from_bytes::<serde_json::Error>(&of(times).to_bytes().expect("it has a header"));
            let mut merged = of(&first);
            merged.merge(&back(&second).expect("it is one of ours"));
            let mut read = back(&first).expect("it is one of ours");
            read.merge(&of(&second));
            let both = of(&[first, second].concat()).to_bytes().expect("it has a header");
            prop_assert_eq!(merged.to_bytes().expect("it has a header"), &both[..]);
            prop_assert_eq!(read.to_bytes().expect("it has a header"), &both[..]);
        }

        #[test]
        fn any_numbers_are_buckets_or_refused(numbers in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(packed) = PackedHistogram::read(&bytes(&numbers)) {
                prop_assert_eq!(packed.unpacked().len(), packed.count());
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let whole = of(&[3_000_000, 9]).to_bytes().expect("it has a header");
        assert!(PackedHistogram::read(&whole).is_some());
        assert!(
            (0..whole.len()).all(|end| PackedHistogram::read(&whole[..end]).is_none()),
            "it is cut short"
        );
        for (numbers, is_one) in [
            (vec![], true),
            (vec![2], true),
            // 55,295 empty buckets, and once the longest time; or a bucket more.
            (vec![0xfd, 0xdf, 0x06, 2], true),
            (vec![0xff, 0xdf, 0x06, 2], false),
            (vec![0xff; 9], true),
            ([[0xff; 9], [0x02; 9]].concat(), false),
            // Overflows.
            (vec![0xfe; 18], true),
            (vec![0xfe; 27], false),
            // Truncated in the middle of a number.
            (vec![2, 0x80], false),
        ] {
            assert_eq!(PackedHistogram::read(&bytes(&numbers)).is_some(), is_one, "{numbers:x?}");
        }
    }
}
