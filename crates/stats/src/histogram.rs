use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer as _, V2SerializeError, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_bytes::ByteBuf;
use std::ops::Range;
use units::Nanos;

/// Significant decimal digits kept: a recorded time is within 0.1 % of the true one.
const DIGITS: u8 = 3;
/// How the V2 format begins where it is not compressed.
const COOKIE: u64 = 0x1c84_9313;
/// Where its header has the length of what follows it, of four bytes as all before the least time;
const LENGTH: Range<usize> = 4..8;
/// behind an offset the digits that are kept;
const KEPT: Range<usize> = 12..16;
/// the least time, and the largest that there is room for.
const LEAST: Range<usize> = 16..24;
const LARGEST: Range<usize> = 24..32;
/// Its length.
const HEADER: usize = 40;
/// HDR reads no header with less.
const LARGEST_LEAST: u64 = 2;

/// Times counted in buckets of 0.1 % width, from 1 ns up; memory grows with the range seen, never
/// with the number of times recorded.
///
/// Two histograms merge exactly: the merged one is what one recorder would have held, and is stored as the same bytes,
/// whatever the order. Serialised in the HDR V2 format, as base64 where people may read it, so that every quantile can be
/// derived again later.
#[derive(Debug, Clone)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// The quantiles every face shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quantiles {
    /// Half are below.
    pub p50: Nanos,
    /// 90 % are below.
    pub p90: Nanos,
    /// 95 % are below.
    pub p95: Nanos,
    /// 99 % are below.
    pub p99: Nanos,
    /// 99.9 % are below.
    pub p99_9: Nanos,
    /// The largest.
    pub max: Nanos,
}

impl Default for Histogram {
    fn default() -> Self {
        Self(hdrhistogram::Histogram::new(DIGITS).expect("three digits are within HDR's 0 to 5"))
    }
}

/// Those that hold the same, whatever each once had room for.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count() == other.count() && self.counts().eq(other.counts())
    }
}

impl Histogram {
    /// Adds one time. Zero is counted as 1 ns, HDR's least.
    pub fn record(&mut self, time: Nanos) {
        self.record_many(time, 1);
    }

    /// Adds the same time `count` times.
    pub fn record_many(&mut self, time: Nanos, count: u64) {
        self.0
            .record_n(time.0.clamp(1, i64::MAX as u64), count)
            .expect("an auto-resizing histogram holds every value up to i64::MAX");
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("an auto-resizing histogram takes in any other");
    }

    /// Forgets everything, keeps its memory.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many times were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time that a share `q` (0 to 1) of all is at or below; none of nothing.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.0.value_at_quantile(q).min(self.0.max())))
    }

    /// The mean, within 0.1 %; none of nothing.
    pub fn mean(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.0.mean().round() as u64))
    }

    /// The largest, within 0.1 %; none of nothing.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.0.max()))
    }

    /// Every bucket that holds something, from the shortest on: a time within 0.1 % of all in it, and how many.
    pub fn counts(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.0
            .iter_recorded()
            .map(|bucket| (Nanos(bucket.value_iterated_to()), bucket.count_since_last_iteration()))
    }

    /// Every bucket that holds something, from the shortest on: the least and the largest time that it counts, and how
    /// many it holds.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> {
        self.counts().map(|(time, count)| (Nanos(self.0.lowest_equivalent(time.0)), time, count))
    }

    /// How many were longer than `limit`, within the bucket width.
    pub fn count_above(&self, limit: Nanos) -> u64 {
        self.count() - self.0.count_between(0, limit.0)
    }

    /// The usual quantiles; none of nothing.
    pub fn quantiles(&self) -> Option<Quantiles> {
        let at = |q| self.quantile(q);
        Some(Quantiles {
            p50: at(0.5)?,
            p90: at(0.9)?,
            p95: at(0.95)?,
            p99: at(0.99)?,
            p99_9: at(0.999)?,
            max: self.max()?,
        })
    }
}

impl Histogram {
    /// In the HDR V2 format. Its header has the largest time that there is room for, which depends on when a histogram last
    /// grew; here it has the largest that was recorded, so that equal histograms are equal bytes.
    fn to_bytes(&self) -> Result<Vec<u8>, V2SerializeError> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes)?;
        bytes[LARGEST].copy_from_slice(&self.0.max().max(LARGEST_LEAST).to_be_bytes());
        Ok(bytes)
    }

    fn from_bytes<E: de::Error>(mut bytes: &[u8]) -> Result<Self, E> {
        // As much room is made as the header says, before anything is read: it is looked at first.
        let byte = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = |at: Range<usize>| bytes.get(at).map(|all| all.iter().fold(0, byte));
        let follows = bytes.len().saturating_sub(HEADER) as u64;
        let header = [number(0..4), number(KEPT), number(LEAST)];
        let is_ours = header == [COOKIE, u64::from(DIGITS), 1].map(Some);
        if !is_ours || number(LENGTH).is_none_or(|length| length > follows) {
            return Err(E::custom("not a histogram of ours: of another kind, or cut short"));
        }
        let mut inner = hdrhistogram::serialization::Deserializer::new()
            .deserialize(&mut bytes)
            .map_err(|e| E::custom(format!("not an HDR histogram: {e}")))?;
        inner.auto(true);
        Ok(Self(inner))
    }
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes().map_err(ser::Error::custom)?;
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&STANDARD.encode(bytes)),
            false => serializer.serialize_bytes(&bytes),
        }
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.is_human_readable() {
            true => {
                let text = String::deserialize(deserializer)?;
                Self::from_bytes(&STANDARD.decode(text).map_err(de::Error::custom)?)
            }
            false => Self::from_bytes(&ByteBuf::deserialize(deserializer)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_a_known_list() {
        let mut h = Histogram::default();
        for ms in 1..=1000 {
            h.record(Nanos::from_millis(ms));
        }
        let q = h.quantiles().expect("not empty");
        for (found, ms) in [(q.p50, 500.0), (q.p95, 950.0), (q.p99, 990.0), (q.max, 1000.0)] {
            assert!((found.as_millis_f64() / ms - 1.0).abs() < 0.002, "{found} against {ms} ms");
        }
        assert_eq!(h.count_above(Nanos::from_millis(900)), 100);
        assert_eq!(h.counts().map(|(_, count)| count).sum::<u64>(), 1000);
        let (first, _) = h.counts().next().expect("not empty");
        assert!((first.as_millis_f64() - 1.0).abs() < 0.002, "{first}");
        assert_eq!(Histogram::default().quantiles(), None);
    }

    proptest! {
        #[test]
        fn merging_loses_nothing(a in proptest::collection::vec(1u64..1 << 40, 0..200), b in proptest::collection::vec(1u64..1 << 40, 0..200)) {
            let fill = |times: &[u64]| {
                let mut h = Histogram::default();
                times.iter().for_each(|t| h.record(Nanos(*t)));
                h
            };
            let mut merged = fill(&a);
            merged.merge(&fill(&b));
            let both = fill(&[a, b].concat());
            prop_assert_eq!(merged.count(), both.count());
            for q in [0.0, 0.1, 0.5, 0.9, 0.99, 1.0] {
                prop_assert_eq!(merged.quantile(q), both.quantile(q));
            }
        }
    }

    proptest! {
        /// An equal histogram once was other bytes if it had grown in another order, and so a run of several loops was
        /// stored in as many ways.
        #[test]
        fn equal_histograms_are_equal_bytes(
            times in proptest::collection::vec(0u64..1 << 50, 0..100), order in any::<u64>(), dealt in 1usize..9,
        ) {
            let bytes = |h: &Histogram| h.to_bytes().expect("it has a header");
            let one = {
                let mut h = Histogram::default();
                times.iter().for_each(|t| h.record(Nanos(*t)));
                h
            };
            let mut loops = vec![Histogram::default(); dealt];
            times.iter().enumerate().for_each(|(k, t)| loops[k % dealt].record(Nanos(*t)));
            loops.rotate_left(order as usize % dealt);
            // One that has been larger, and was emptied.
            let mut merged = Histogram::default();
            merged.record(Nanos(order >> 1));
            merged.clear();
            loops.iter().for_each(|h| merged.merge(h));
            prop_assert!(merged == one);
            prop_assert!(one == merged);
            prop_assert_eq!(bytes(&merged), bytes(&one));
            let back: Histogram = serde_json::from_str(&serde_json::to_string(&merged).expect("text")).expect("it was stored");
            prop_assert_eq!(bytes(&back), bytes(&one));
            prop_assert!(back == one);
        }
    }

    #[test]
    fn one_stored_before_equal_ones_were_equal_bytes_is_read() {
        // With room for 1.2 min, as it had when it was merged, and one time of 3 ms.
        let mut bytes = {
            let mut h = Histogram::default();
            h.record(Nanos::from_millis(3));
            h.to_bytes().expect("it has a header")
        };
        bytes[LARGEST].copy_from_slice(&Nanos::from_secs(72).0.to_be_bytes());
        let stored = format!("\"{}\"", STANDARD.encode(&bytes));
        let back: Histogram = serde_json::from_str(&stored).expect("it was stored");
        assert_eq!(back.counts().map(|(_, count)| count).sum::<u64>(), 1);
        assert_ne!(serde_json::to_string(&back).expect("text"), stored);
    }

    /// Others need far more memory, and merging them may fail.
    #[test]
    fn one_of_another_kind_is_refused() {
        for (low, high, digits) in [(1, 1_000, 5), (1_000, 1_000_000, 3)] {
            let other =
                hdrhistogram::Histogram::<u64>::new_with_bounds(low, high, digits).expect("it is one");
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&other, &mut bytes).expect("it is written");
            let stored = format!("\"{}\"", STANDARD.encode(&bytes));
            let refused = serde_json::from_str::<Histogram>(&stored).expect_err("it is none of ours");
            assert!(refused.to_string().contains("not a histogram of ours"), "{refused}");
        }
    }

    #[test]
    fn survives_json() {
        let mut h = Histogram::default();
        h.record(Nanos::from_millis(3));
        h.record_many(Nanos::from_secs(2), 7);
        let json = serde_json::to_string(&h).expect("serialises");
        let mut back: Histogram = serde_json::from_str(&json).expect("reads back");
        assert_eq!(back.quantile(0.5), h.quantile(0.5));
        back.record(Nanos::from_secs(9000));
        assert_eq!(back.count(), 9);
    }
}
