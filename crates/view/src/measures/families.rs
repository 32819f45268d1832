//! Every family: the names that other people's tools know. One that was there once keeps its name, type and unit.

use record::catalogue::{Listed, Measure, Metric, listed};
use std::sync::LazyLock;

/// What a kind of sample is called and means.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name as Prometheus has it: unit and `_total` included.
    pub name: &'static str,
    /// What its samples are.
    pub kind: Kind,
    /// Its unit as OpenTelemetry writes it (UCUM): `s`, `By`, `{request}/s`; empty if it has none.
    pub unit: &'static str,
    /// Its own labels, beside [`super::LABELS`].
    pub labels: &'static [&'static str],
    /// What it means, in a sentence.
    pub help: &'static str,
}

/// What the samples of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, as long as the run lasts.
    Counter,
    /// As it was last seen.
    Gauge,
    /// Lengths of time in buckets; only grows.
    Histogram,
    /// Always 1: its labels say something.
    Info,
}

impl Kind {
    /// The word of the text formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }
}

impl Family {
    fn of(row: &Listed, metric: Metric) -> Self {
        let Measure { quantity, help, grows, .. } = row.measure;
        let shared =
            SHARED.iter().find(|(name, _)| *name == metric.family).map(|(_, help)| (*help).to_owned());
        let mut letters = help.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        let labels = row.labels.iter().copied().chain(metric.label.map(|(label, _)| label));
        Self {
            name: metric.family,
            kind: if *grows { Kind::Counter } else { Kind::Gauge },
            unit: quantity.ucum().leak(),
            labels: labels.collect::<Vec<_>>().leak(),
            help: shared.unwrap_or_else(|| format!("{first}{}.", letters.as_str())).leak(),
        }
    }

    /// Its name without what its type adds: OpenMetrics and OpenTelemetry call it so.
    pub fn stem(&self) -> &'static str {
        match self.kind {
            Kind::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            Kind::Info => self.name.strip_suffix("_info").unwrap_or(self.name),
            Kind::Gauge | Kind::Histogram => self.name,
        }
    }

    /// The unit as a word that a name may end in.
    pub fn unit_word(&self) -> Option<&'static str> {
        match self.unit {
            "s" => Some("seconds"),
            "By" => Some("bytes"),
            _ => None,
        }
    }
}

macro_rules! families {
    ($($id:ident: $kind:ident $name:literal $unit:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) static $id: Family =
            Family { name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*], help: $help };)*
        /// Those of the run, its load and its search.
        static OF_THE_RUN: &[&Family] = &[$(&$id),*];
    };
}

/// All of them, in the order in which they are told: those of the run, and of what is watched as the catalogue has it.
pub static FAMILIES: LazyLock<Vec<&'static Family>> = LazyLock::new(|| {
    let mut families = OF_THE_RUN.to_vec();
    for row in listed() {
        let Some(metric) = row.measure.metric else { continue };
        if !families.iter().any(|family| family.name == metric.family) {
            // Once in the life of the program.
            families.push(Box::leak(Box::new(Family::of(&row, metric))));
        }
    }
    families
});

/// That of a measure of the catalogue.
pub(super) fn of_metric(name: &str) -> &'static Family {
    FAMILIES.iter().find(|family| family.name == name).expect("every metric of the catalogue is of a family")
}

/// What families say that several measures share.
const SHARED: [(&str, &str); 4] = [
    ("torment_database_transactions_total", "Transactions by how they ended: commit, rollback."),
    ("torment_host_cpu_seconds_total", "Processor time of the machine: user, system, idle, iowait, steal."),
    (
        "torment_network_events_total",
        "What went wrong below the target's connections: listen_overflow, listen_drop, retransmitted.",
    ),
    (
        "torment_own_cpu_seconds_total",
        "Processor time of torment: loops make the load, watch looks at the target, rest is all else.",
    ),
];

families! {
    // The run.
    INFO: Info "torment_run_info" "" ["version", "goal", "host", "part_of"]
        "What is known of the run in words; part_of is the experiment that it is a measurement of.";
    RUNNING: Gauge "torment_run_running" "" []
        "1 while the run goes on, 0 when it has ended.";
    STARTED: Gauge "torment_run_start_time_seconds" "s" []
        "When the run began, since 1970.";

    // The load.
    OFFERED: Gauge "torment_offered_per_second" "{request}/s" []
        "Starts that came due in the last second.";
    ACHIEVED: Gauge "torment_achieved_per_second" "{request}/s" []
        "Starts that were made in the last second.";
    GOODPUT: Gauge "torment_goodput_per_second" "{request}/s" []
        "Requests of the last second that were answered as expected, and in time.";
    DUE: Counter "torment_requests_due_total" "{request}" []
        "Starts that came due; of a storm processes instead of requests.";
    SENT: Counter "torment_requests_sent_total" "{request}" []
        "Starts that were made.";
    REQUESTS: Counter "torment_requests_total" "{request}" ["outcome"]
        "Starts by what became of them: ok, late, failed, timeout, refused, unsent, unfinished.";
    RESPONSES: Counter "torment_responses_total" "{response}" ["status"]
        "Answers by status, expected or not.";
    RESPONSE: Histogram "torment_response_time_seconds" "s" []
        "From when a request was due to its answer; of requests given up the time that they had waited.";
    RESPONSE_MAX: Gauge "torment_response_time_max_seconds" "s" []
        "The longest response time of the last second.";
    SERVICE: Histogram "torment_service_time_seconds" "s" []
        "From when a request was sent to its answer.";
    LATENESS: Histogram "torment_lateness_seconds" "s" []
        "From when a request was due to when it was sent: waiting for a connection, and torment's own delay.";
    PACING: Histogram "torment_pacing_seconds" "s" []
        "From when a request was due to when torment took it up: its own delay alone.";
    IN_FLIGHT: Gauge "torment_requests_in_flight" "{request}" []
        "Requests sent and not done, at the end of the last second.";
    BACKLOG: Gauge "torment_requests_backlog" "{request}" []
        "Requests due and not sent, at the end of the last second.";
    CONNECTIONS: Gauge "torment_connections" "{connection}" []
        "Connections that are open, at the end of the last second.";
    RESENT: Counter "torment_requests_resent_total" "{request}" []
        "Requests that were sent once more, because the server was closing their connection.";
    CONNECTS: Counter "torment_connections_opened_total" "{connection}" []
        "Connections opened.";
    RECEIVED: Counter "torment_received_bytes_total" "By" []
        "Bytes received.";

    // The search, the experiment.
    TRIAL: Gauge "torment_trial_number" "" ["purpose"]
        "Number of the trial that goes on, or of the last one, and what it is for.";
    TRIAL_RATE: Gauge "torment_trial_planned_per_second" "{request}/s" []
        "The rate that this trial is to offer; none of a closed loop.";
    TRIALS: Counter "torment_trials_total" "{trial}" ["purpose", "class"]
        "Trials that are over, by what they are for and their class: good, bad, void, unjudged.";
    LIMIT: Gauge "torment_limit" "" ["goal", "bound", "unit"]
        "The bounds of a search so far: lower holds, upper does not.";
    CAVEATS: Gauge "torment_caveats" "{caveat}" ["code"]
        "Reasons for doubt, each with the number of trials that it touches; 1 if it touches the whole run.";
    STARTS: Counter "torment_starts_total" "{start}" ["arm"]
        "Starts of an experiment's arms that are over.";
    FIGURES: Counter "torment_figures_total" "{figure}" ["table"]
        "Figures of the machine that torment probe has measured.";
    TASKS: Gauge "torment_tasks" "{task}" []
        "Tasks that torment find threads holds at this moment.";

    // The target.
    CPU_ALLOWED: Gauge "torment_target_cpus_allowed" "{cpu}" ["program", "role"]
        "Processors that it may use: its mask, and the smallest quota above it.";
}
