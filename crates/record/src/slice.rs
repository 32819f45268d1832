use crate::{Failure, Outcomes, Silence};
use serde::{Deserialize, Serialize};
use stats::Histogram;
use std::collections::BTreeMap;
use units::Nanos;

/// Length of a slice.
pub const SLICE: Nanos = Nanos::from_secs(1);
/// Length of one block of [`Slice::outstanding`]: 10 Hz, as the divergence rule needs.
pub const BLOCK: Nanos = Nanos::from_millis(100);
/// Blocks in a full slice.
pub const BLOCKS_PER_SLICE: usize = 10;

/// One second of a trial, as one engine loop or all of them saw it; the last may be shorter.
///
/// Everything is counted in the second in which it happened, outcomes in the second in which they were decided. Slices of the same second
/// from several loops merge exactly, as does a whole trial: `catalogue/load_rows.rs` defines how, and what is exported.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Slice {
    /// Which second of the trial, from 0; the drain has its own slices after the load's.
    pub index: u32,
    /// Arrivals that came due.
    pub due: u64,
    /// Arrivals whose (for a flow, first) request was handed to the kernel.
    pub sent: u64,
    /// Requests resent because their connection had closed without a byte of an answer: each counts once, however often, and ends like
    /// any other.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Arrivals whose outcome was decided.
    pub outcomes: Outcomes,
    /// Answers by status, expected or not.
    #[serde(with = "pairs")]
    pub statuses: BTreeMap<u16, u64>,
    /// Why the failed ones failed.
    #[serde(with = "pairs")]
    pub failures: BTreeMap<Failure, u64>,
    /// Done − due. Of answered arrivals; timed-out and unfinished ones count with the time they had waited, a lower bound; failed,
    /// refused and unsent ones are left out.
    pub response: Histogram,
    /// Done − sent, of answered arrivals.
    pub service: Histogram,
    /// Sent − due: waiting for a free connection, and the pacing.
    pub lateness: Histogram,
    /// Taken up − due: the generator's own delay alone.
    pub pacing: Histogram,
    /// Mean number of arrivals outstanding (in flight and backlog) in each tenth of the slice,
    /// integrated exactly.
    pub outstanding: Vec<f64>,
    /// Sent and not done, at the end of the slice.
    pub in_flight: u64,
    /// Due and not sent, at the end of the slice.
    pub backlog: u64,
    /// Open connections, at the end of the slice.
    pub connections: u64,
    /// Connections opened.
    pub connects: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Figures of each step of each flow, in the order of the plan; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<StepSlice>,
    /// Time covered by the slice, load or drain.
    pub elapsed: Nanos,
    /// Processor time of the engine's loops, without deliberate spinning.
    pub cpu: Nanos,
    /// The part of it spent in the kernel; zero in runs of earlier versions.
    #[serde(default)]
    pub kernel: Nanos,
    /// Time that the loops were ready and waited for a processor.
    pub run_delay: Nanos,
    /// Loops merged into this slice.
    pub loops: u32,
    /// Sum over decided arrivals of decided − taken up, in nanoseconds: one side of Little's law.
    pub waited_ns: u64,
    /// Integral of outstanding arrivals over time, in nanoseconds: the other side.
    pub outstanding_ns: u64,
    /// Silences that became known in this second; merged seconds keep only the longest that ended. They do not overlap and are at least
    /// [`crate::MIN_SILENCE`] long, so there are few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
}

/// What happened to one step of a flow, or to one of several requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepSlice {
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Answers as expected.
    pub ok: u64,
    /// All other outcomes of sent requests.
    pub bad: u64,
    /// Done − due, where a later step is due when the previous one is done and the pause is over; of answers, and, with the time waited
    /// so far, of requests given up.
    pub response: Histogram,
}

impl StepSlice {
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.ok += other.ok;
        self.bad += other.bad;
        self.response.merge(&other.response);
    }
}

impl Slice {
    /// Answers counted in it if its second lies within a load of that length: later ones belong to no rate.
    pub fn answered_within(&self, load: Nanos) -> u64 {
        if SLICE * u64::from(self.index) < load { self.outcomes.answered() } else { 0 }
    }
}

/// Zeros are not stored.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Maps as lists of pairs: JSON keys must be strings, and serde reads numbers back from such keys only outside of tagged enums, which
/// events are.
mod pairs {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<K: Serialize, S: Serializer>(map: &BTreeMap<K, u64>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }
    pub fn deserialize<'de, K: Deserialize<'de> + Ord, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<K, u64>, D::Error> {
        Ok(Vec::<(K, u64)>::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Outcome};

    fn filled(index: u32) -> Slice {
        let mut slice =
            Slice { index, due: 3, sent: 2, resent: 1, loops: 1, elapsed: SLICE, ..Slice::default() };
        slice.outcomes.add(Outcome::Ok, 1);
        slice.outcomes.add(Outcome::Failed, 2);
        slice.statuses.insert(200, 1);
        slice.statuses.insert(503, 1);
        slice.failures.insert(Failure::Status(503), 1);
        slice.failures.insert(Failure::Connect("connection refused".to_owned()), 1);
        slice.response.record(Nanos::from_millis(u64::from(index) + 1));
        slice.outstanding = vec![f64::from(index); BLOCKS_PER_SLICE];
        let [from, to] = [300, 700].map(Nanos::from_millis);
        slice.silences.push(Silence { from, to, waiting: 20, freed: Some(19) });
        slice
    }

    /// A slice once came back empty from the store: its statuses were a map with numeric keys, which serde cannot read inside a tagged
    /// enum.
    #[test]
    fn an_event_comes_back_from_json_as_it_was() {
        let event = Event::SliceDone { trial: 1, slice: Box::new(filled(4)) };
        let json = serde_json::to_string(&event).expect("serialises");
        let back: Event = serde_json::from_str(&json).expect("reads back");
        assert_eq!(serde_json::to_string(&back).expect("serialises"), json);
        assert!(matches!(back, Event::SliceDone { slice, .. } if slice.statuses == filled(4).statuses));
        // As written before silences existed.
        let before = json.replace(&json[json.find(",\"silences\"").expect("it has one")..], "}}");
        let back: Event = serde_json::from_str(&before).expect("reads back");
        assert!(matches!(back, Event::SliceDone { slice, .. } if slice.silences.is_empty()));
    }

    #[test]
    fn a_slice_stored_before_anything_was_resent_is_read() {
        let json = serde_json::to_string(&Slice { resent: 0, ..filled(2) }).expect("serialises");
        assert!(!json.contains("resent"), "{json}");
        assert_eq!(serde_json::from_str::<Slice>(&json).expect("reads back").resent, 0);
        let json = serde_json::to_string(&filled(2)).expect("serialises");
        assert_eq!(serde_json::from_str::<Slice>(&json).expect("reads back").resent, 1);
    }

    #[test]
    fn loops_side_by_side_and_seconds_in_a_row_add_up() {
        let mut second = filled(0);
        second.merge_parallel(&filled(0));
        assert_eq!((second.due, second.loops, second.elapsed), (6, 2, SLICE));
        assert_eq!(second.outstanding.len(), BLOCKS_PER_SLICE);
        second.merge_after(&filled(1));
        assert_eq!((second.due, second.loops, second.elapsed), (9, 2, SLICE * 2));
        assert_eq!(second.resent, 3);
        assert_eq!(second.outstanding.len(), 2 * BLOCKS_PER_SLICE);
        assert_eq!(second.failures[&Failure::Status(503)], 3);
        assert_eq!(second.response.count(), 3);
        let longest = second.silences[..].first().map(Silence::length);
        assert_eq!(
            (longest, second.silences.len()),
            (Some(Nanos::from_millis(400)), 1),
            "of all seconds the longest"
        );
    }
}
