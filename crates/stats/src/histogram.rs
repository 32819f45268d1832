use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer as _, V2SerializeError, V2Serializer};
use packed::{LARGEST, MIN_LARGEST, PackedHistogram};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_bytes::ByteBuf;
use units::Nanos;

mod packed;

/// Significant decimal digits kept: a recorded time is within 0.1 % of the true one.
const DIGITS: u8 = 3;

/// Times counted in buckets of 0.1 % width, from 1 ns up; memory grows with the range seen, never with the number of times recorded.
///
/// Two histograms merge exactly: the merged one is what one recorder would have held, and is stored as the same bytes, whatever the
/// order. Serialised in the HDR V2 format, as base64 where people may read it, so that every quantile can be derived later.
#[derive(Debug, Clone)]
pub struct Histogram(Counts);

type Hdr = hdrhistogram::Histogram<u64>;

#[derive(Debug, Clone)]
enum Counts {
    /// A count for every bucket up to the largest time: to record, and to find quantiles.
    Unpacked(Hdr),
    /// As read: most are only merged into another, bucket by bucket.
    Packed(PackedHistogram),
}

/// The quantiles shown everywhere.
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
        Self(Counts::Unpacked(empty()))
    }
}

fn empty() -> Hdr {
    Hdr::new(DIGITS).expect("three digits are within HDR's 0 to 5")
}

/// Equal if they hold the same counts, whatever capacity each has grown to.
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
        add(self.unpacked_mut(), time.0.clamp(1, i64::MAX as u64), count);
    }

    /// Adds all that `other` holds.
    pub fn merge(&mut self, other: &Self) {
        let open = self.unpacked_mut();
        match &other.0 {
            Counts::Unpacked(other) => {
                open.add(other).expect("an auto-resizing histogram takes in any other")
            }
            Counts::Packed(packed) => packed.add_to(open),
        }
    }

    /// Removes everything, keeps its memory.
    pub fn clear(&mut self) {
        self.unpacked_mut().reset();
    }

    /// Number of times recorded.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Counts::Unpacked(open) => open.len(),
            Counts::Packed(packed) => packed.count(),
        }
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The `q` quantile (0 to 1): the time that this share is at or below; none if empty.
    pub fn quantile(&self, q: f64) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.unpacked().value_at_quantile(q).min(self.unpacked().max())))
    }

    /// The mean, within 0.1 %; none if empty.
    pub fn mean(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.unpacked().mean().round() as u64))
    }

    /// The largest, within 0.1 %; none if empty.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.unpacked().max()))
    }

    /// Every non-empty bucket in ascending order: a time within 0.1 % of all in it, and its count.
    pub fn counts(&self) -> impl Iterator<Item = (Nanos, u64)> {
        self.unpacked()
            .iter_recorded()
            .map(|bucket| (Nanos(bucket.value_iterated_to()), bucket.count_since_last_iteration()))
    }

    /// Every non-empty bucket in ascending order: its least and largest time, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> {
        let open = self.unpacked();
        self.counts().map(|(time, count)| (Nanos(open.lowest_equivalent(time.0)), time, count))
    }

    /// Number of times longer than `limit`, within the bucket width.
    pub fn count_above(&self, limit: Nanos) -> u64 {
        self.count() - self.unpacked().count_between(0, limit.0)
    }

    /// The usual quantiles; none if empty.
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

    fn unpacked(&self) -> &Hdr {
        match &self.0 {
            Counts::Unpacked(open) => open,
            Counts::Packed(packed) => packed.unpacked(),
        }
    }

    fn unpacked_mut(&mut self) -> &mut Hdr {
        if let Counts::Packed(packed) = &self.0 {
            self.0 = Counts::Unpacked(packed.unpacked().clone());
        }
        match &mut self.0 {
            Counts::Unpacked(open) => open,
            Counts::Packed(_) => unreachable!("it was just opened"),
        }
    }

    /// In the HDR V2 format. Its header has the largest time there is room for, which depends on when a histogram last grew; here it has
    /// the largest recorded, so that equal histograms are equal bytes.
    fn to_bytes(&self) -> Result<Vec<u8>, V2SerializeError> {
        let (mut bytes, open) = (Vec::new(), self.unpacked());
        V2Serializer::new().serialize(open, &mut bytes)?;
        bytes[LARGEST].copy_from_slice(&open.max().max(MIN_LARGEST).to_be_bytes());
        Ok(bytes)
    }

    fn from_bytes<E: de::Error>(bytes: &[u8]) -> Result<Self, E> {
        let packed = PackedHistogram::read(bytes);
        let none = || E::custom("not a histogram of ours: of another kind, or cut short");
        packed.map(|packed| Self(Counts::Packed(packed))).ok_or_else(none)
    }
}

/// Adds the same time, in nanoseconds, `count` times.
fn add(to: &mut Hdr, time: u64, count: u64) {
    to.record_n(time, count).expect("an auto-resizing histogram holds every value up to i64::MAX");
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
        /// Equal histograms once had different bytes if they had grown in a different order, and so a run of several loops was stored in
        /// as many ways.
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
        // With room for 1.2 min, as after merging, and one time of 3 ms.
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

    /// Other kinds need far more memory, and merging them may fail.
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
