//! The rows of a load: every number of a [`Slice`]. They also define how slices merge.

use super::Measure;
use super::Quantity::{Bytes, Count, Ns, PerSecond};
use super::aggregation::Number;
use super::entity::metric;
use crate::{Silence, Slice, StepSlice};
use stats::Histogram;
use std::collections::BTreeMap;

/// No second counts as much of anything: 64 processors working for five minutes take this many nanoseconds.
const MAX_LIKELY: f64 = (1_u64 << 44) as f64;
/// No plan has more steps.
const MAX_PARTS: usize = 1_000;

/// A row of the load.
#[derive(Debug)]
pub struct LoadRow {
    /// What is measured.
    pub measure: Measure,
    /// How it is read.
    pub read: LoadReader,
    /// Whether it is about a second only, not a whole trial.
    pub of_a_second: bool,
    join: MergeFn,
}

/// Merges a slice of the same second (`true`), or the following one.
type MergeFn = fn(&mut Slice, &Slice, bool);

/// How a slice's number is read, and so its kind.
#[derive(Debug, Clone, Copy)]
pub enum LoadReader {
    /// A raw count.
    Number(fn(&Slice) -> f64),
    /// Shown as a rate per second.
    Rate(fn(&Slice) -> u64),
    /// Lengths of time.
    Times(fn(&Slice) -> &Histogram),
    /// The longest of those.
    Longest(fn(&Slice) -> &Histogram),
    /// Counts by name.
    Each(fn(&Slice) -> Vec<(String, u64)>),
    /// Means of each tenth of a second.
    Tenths(fn(&Slice) -> &[f64]),
}

impl LoadRow {
    /// Its name with the unit, as in table columns and JSON keys.
    pub fn column(&self) -> String {
        let end = match self.measure.quantity {
            Ns => "_seconds",
            Bytes => "_bytes",
            _ => "",
        };
        format!("{}{end}", self.measure.name)
    }
}

struct LoadRowKind {
    read: LoadReader,
    join: MergeFn,
    grows: bool,
    of_a_second: bool,
}

const fn grown(read: LoadReader, join: MergeFn) -> LoadRowKind {
    LoadRowKind { read, join, grows: true, of_a_second: false }
}

const fn derived(read: LoadReader) -> LoadRowKind {
    LoadRowKind { read, join: |_, _, _| (), grows: false, of_a_second: true }
}

const fn row(kind: LoadRowKind, measure: Measure) -> LoadRow {
    let LoadRowKind { read, join, grows, of_a_second } = kind;
    LoadRow { measure: Measure { grows, ..measure }, read, of_a_second, join }
}

macro_rules! kind {
    // A counter.
    (Sum $($f:ident).+) => {
        grown(LoadReader::Number(|slice| slice.$($f).+.value()), |mine, next, _| mine.$($f).+ += next.$($f).+)
    };
    // At the end; summed over loops.
    (Level $($f:ident).+) => {
        LoadRowKind { join: |mine, next, beside| level(&mut mine.$($f).+, next.$($f).+, beside), grows: false, ..kind!(Sum $($f).+) }
    };
    // The same, for what ceases with the trial.
    (Momentary $($f:ident).+) => { LoadRowKind { of_a_second: true, ..kind!(Level $($f).+) } };
    // Summed over parallel loops.
    (Loops $($f:ident).+) => {
        LoadRowKind { join: |mine, next, beside| loops(&mut mine.$($f).+, next.$($f).+, beside), ..kind!(Sum $($f).+) }
    };
    (Times $($f:ident).+) => {
        grown(LoadReader::Times(|slice| &slice.$($f).+), |mine, next, _| mine.$($f).+.merge(&next.$($f).+))
    };
    (Each $($f:ident).+) => {
        grown(LoadReader::Each(|slice| named(&slice.$($f).+)), |mine, next, _| each(&mut mine.$($f).+, &next.$($f).+))
    };
    (Tenths $($f:ident).+) => {
        grown(LoadReader::Tenths(|slice| slice.$($f).+.as_slice()), |mine, next, beside| tenths(&mut mine.$($f).+, &next.$($f).+, beside))
    };
    // Derived from a field that another row counts.
    (Rate $($f:ident).+) => { derived(LoadReader::Rate(|slice| slice.$($f).+)) };
    (Longest $($f:ident).+) => { derived(LoadReader::Longest(|slice| &slice.$($f).+)) };
}

/// `field: Kind quantity, "name", "help";` for each number, `=> "family"` of metrics, `label "value"` there, and the family's help if
/// different.
macro_rules! load {
    ($($field:ident $(. $inner:ident)?: $kind:ident $quantity:expr, $name:literal, $help:literal
        $(=> $family:literal $($label:ident $value:literal)? $(, $words:literal)?)?;)*) => {
        /// Everything exported of a load while it lasts.
        pub static LOAD: &[LoadRow] = &[$(row(kind!($kind $field $(.$inner)?), Measure {
            field: concat!(stringify!($field) $(, ".", stringify!($inner))?),
            name: $name,
            quantity: $quantity,
            help: $help,
            grows: false,
            whole: true,
            metric: metric!($($family $($label $value)? $(, $words)?)?),
        }),)*];
    };
}

load! {
    due: Rate PerSecond("request"), "offered", "starts that came due in the last second" => "torment_offered_per_second";
    sent: Rate PerSecond("request"), "achieved", "starts that were made in the last second" => "torment_achieved_per_second";
    outcomes.ok: Rate PerSecond("request"), "goodput",
        "requests of the last second that were answered as expected, and in time" => "torment_goodput_per_second";
    due: Sum Count("request"), "due", "arrivals that came due"
        => "torment_requests_due_total", "Starts that came due; of a storm processes instead of requests.";
    sent: Sum Count("request"), "sent", "arrivals whose request was handed to the kernel"
        => "torment_requests_sent_total", "Starts that were made.";
    outcomes.ok: Sum Count("request"), "ok", "arrivals answered as expected, in time"
        => "torment_requests_total" outcome "ok",
        "Starts by what became of them: ok, late, failed, timeout, refused, unsent, unfinished.";
    outcomes.late: Sum Count("request"), "late", "answered as expected, later than the goal allows" => "torment_requests_total" outcome "late";
    outcomes.failed: Sum Count("request"), "failed", "answered otherwise, or not to be had" => "torment_requests_total" outcome "failed";
    outcomes.timeout: Sum Count("request"), "timeout", "no complete answer within the time-out" => "torment_requests_total" outcome "timeout";
    outcomes.refused: Sum Count("request"), "refused", "not started, because too many waited already" => "torment_requests_total" outcome "refused";
    outcomes.unsent: Sum Count("request"), "unsent", "not started, because torment itself was behind" => "torment_requests_total" outcome "unsent";
    outcomes.unfinished: Sum Count("request"), "unfinished", "still open when the drain was over" => "torment_requests_total" outcome "unfinished";
    statuses: Each Count("response"), "statuses", "answers by status, as `200=59490; 503=12`" => "torment_responses_total" status "",
        "Answers by status, expected or not.";
    failures: Each Count("request"), "failures", "why the failed ones failed, as `status 503=12; …`";
    response: Times Ns, "response", "done − due" => "torment_response_time_seconds",
        "From when a request was due to its answer; of requests given up the time that they had waited.";
    response: Longest Ns, "response_max", "the longest response time of the last second" => "torment_response_time_max_seconds";
    service: Times Ns, "service", "done − sent" => "torment_service_time_seconds", "From when a request was sent to its answer.";
    lateness: Times Ns, "lateness", "sent − due" => "torment_lateness_seconds",
        "From when a request was due to when it was sent: waiting for a connection, and torment's own delay.";
    pacing: Times Ns, "pacing", "taken up − due, torment's own delay alone" => "torment_pacing_seconds",
        "From when a request was due to when torment took it up: its own delay alone.";
    outstanding: Tenths Count("request"), "outstanding", "mean arrivals in flight and in the backlog";
    in_flight: Momentary Count("request"), "in_flight", "sent and not done, at its end"
        => "torment_requests_in_flight", "Requests sent and not done, at the end of the last second.";
    backlog: Momentary Count("request"), "backlog", "due and not sent, at its end"
        => "torment_requests_backlog", "Requests due and not sent, at the end of the last second.";
    connections: Level Count("connection"), "connections", "open connections, at its end"
        => "torment_connections", "Connections that are open, at the end of the last second.";
    resent: Sum Count("request"), "resent", "requests sent once more, because the server was closing their connection"
        => "torment_requests_resent_total",
        "Requests that were sent once more, because the server was closing their connection.";
    connects: Sum Count("connection"), "connects", "connections opened" => "torment_connections_opened_total";
    received_bytes: Sum Bytes, "received", "bytes received" => "torment_received_bytes_total";
    cpu: Sum Ns, "generator_cpu", "processor time of torment's loops";
    run_delay: Sum Ns, "generator_wait", "time that they were ready and waited for a processor";
    loops: Loops Count("loop"), "generator_loops", "how many loops";
}

/// Fields that are not exported.
pub(super) const MERGED: [(&str, MergeFn); 6] = [
    ("elapsed", |mine, next, beside| {
        mine.elapsed = if beside { mine.elapsed.max(next.elapsed) } else { mine.elapsed + next.elapsed };
    }),
    ("kernel", |mine, next, _| mine.kernel += next.kernel),
    ("waited_ns", |mine, next, _| mine.waited_ns = mine.waited_ns.saturating_add(next.waited_ns)),
    ("outstanding_ns", |mine, next, _| {
        mine.outstanding_ns = mine.outstanding_ns.saturating_add(next.outstanding_ns)
    }),
    ("parts", |mine, next, _| parts(&mut mine.parts, &next.parts)),
    ("silences", |mine, next, beside| silences(&mut mine.silences, &next.silences, beside)),
];

impl Slice {
    /// Merges another loop's slice of the same second.
    pub fn merge_parallel(&mut self, other: &Self) {
        self.join(other, true);
    }

    /// Adds the outstanding means of the same second elsewhere, and nothing else.
    pub(crate) fn add_outstanding(&mut self, means: &[f64]) {
        tenths(&mut self.outstanding, means, true);
    }

    /// Merges the following second.
    pub fn merge_after(&mut self, next: &Self) {
        self.join(next, false);
    }

    /// Whether each figure is possible for a second, or a drain, so that sums neither overflow nor exhaust memory, as those of parts
    /// would, each of which is a few bytes until merged: another process may send anything.
    pub fn is_likely(&self) -> bool {
        let likely = |figure: f64| (0.0..MAX_LIKELY).contains(&figure);
        let is_likely = |row: &LoadRow| match row.read {
            LoadReader::Number(read) => likely(read(self)),
            LoadReader::Times(read) => likely(read(self).count() as f64),
            LoadReader::Each(read) => read(self).iter().all(|(_, count)| likely(*count as f64)),
            LoadReader::Tenths(read) => read(self).iter().copied().all(likely),
            LoadReader::Rate(_) | LoadReader::Longest(_) => true,
        };
        let counts = self.parts.iter().flat_map(|part| [part.sent, part.ok, part.bad, part.response.count()]);
        self.parts.len() <= MAX_PARTS
            && LOAD.iter().all(is_likely)
            && counts.map(|count| count as f64).all(likely)
    }

    fn join(&mut self, next: &Self, beside: bool) {
        LOAD.iter().for_each(|row| (row.join)(self, next, beside));
        MERGED.iter().for_each(|(_, join)| join(self, next, beside));
    }
}

fn named(counts: &BTreeMap<impl ToString, u64>) -> Vec<(String, u64)> {
    counts.iter().map(|(name, count)| (name.to_string(), *count)).collect()
}

fn level(mine: &mut u64, next: u64, beside: bool) {
    *mine = if beside { *mine + next } else { next };
}

fn loops(mine: &mut u32, next: u32, beside: bool) {
    *mine = if beside { mine.saturating_add(next) } else { next.max(*mine) };
}

fn each<K: Ord + Clone>(mine: &mut BTreeMap<K, u64>, next: &BTreeMap<K, u64>) {
    for (name, count) in next {
        *mine.entry(name.clone()).or_default() += count;
    }
}

fn tenths(mine: &mut Vec<f64>, next: &[f64], beside: bool) {
    if !beside {
        return mine.extend_from_slice(next);
    }
    if mine.len() < next.len() {
        mine.resize(next.len(), 0.0);
    }
    mine.iter_mut().zip(next).for_each(|(mine, next)| *mine += next);
}

fn parts(mine: &mut Vec<StepSlice>, next: &[StepSlice]) {
    if mine.len() < next.len() {
        mine.resize_with(next.len(), StepSlice::default);
    }
    mine.iter_mut().zip(next).for_each(|(mine, next)| mine.merge(next));
}

/// Over several seconds only the longest that ended is kept.
fn silences(mine: &mut Vec<Silence>, next: &[Silence], beside: bool) {
    mine.extend_from_slice(next);
    if !beside {
        let ended = mine.drain(..).filter(|silence| silence.freed.is_some());
        let longest = ended.max_by_key(Silence::length);
        mine.extend(longest);
    }
}
