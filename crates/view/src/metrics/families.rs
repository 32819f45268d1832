//! All metric families: names that other tools rely on. A published family keeps its name, type and unit.

use record::catalogue::{LOAD, LoadReader, LoadRow, Measure, Metric, catalogue_rows};
use std::sync::LazyLock;

/// A metric's name, type, unit and meaning.
#[derive(Debug, PartialEq, Eq)]
pub struct MetricFamily {
    /// Its Prometheus name, including unit and `_total`.
    pub name: &'static str,
    /// Its type.
    pub kind: MetricType,
    /// Its unit in UCUM, as OpenTelemetry has it: `s`, `By`, `{request}/s`; empty if none.
    pub unit: &'static str,
    /// Its own labels, in addition to [`super::LABELS`].
    pub labels: &'static [&'static str],
    /// Its description, one sentence.
    pub help: &'static str,
}

units::named! {
    /// A metric type, named as in the text formats.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MetricType {
        /// Never decreases during a run.
        Counter = "counter",
        /// The last value seen.
        Gauge = "gauge",
        /// Durations in buckets; never decreases.
        Histogram = "histogram",
        /// Always 1: the labels carry the information.
        Info = "info",
    }
}

impl MetricType {
    fn of(measure: &Measure) -> Self {
        if measure.grows { Self::Counter } else { Self::Gauge }
    }
}

impl MetricFamily {
    fn of(measure: &Measure, metric: Metric, labels: &[&'static str], kind: MetricType) -> Self {
        let mut letters = measure.help.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        let labels = labels.iter().copied().chain(metric.label.map(|(label, _)| label));
        Self {
            name: metric.family,
            kind,
            unit: measure.quantity.ucum().leak(),
            labels: labels.collect::<Vec<_>>().leak(),
            help: metric.words.map_or_else(|| format!("{first}{}.", letters.as_str()), str::to_owned).leak(),
        }
    }

    /// Its name without the type's suffix, as OpenMetrics and OpenTelemetry have it.
    pub fn stem(&self) -> &'static str {
        match self.kind {
            MetricType::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            MetricType::Info => self.name.strip_suffix("_info").unwrap_or(self.name),
            MetricType::Gauge | MetricType::Histogram => self.name,
        }
    }

    /// The unit as a suffix for names.
    pub fn unit_word(&self) -> Option<&'static str> {
        match self.unit {
            "s" => Some("seconds"),
            "By" => Some("bytes"),
            _ => None,
        }
    }
}

macro_rules! families {
    ($list:ident { $($id:ident: $kind:ident $name:literal $unit:literal [$($label:literal),*] $help:literal;)* }) => {
        $(pub(super) static $id: MetricFamily =
            MetricFamily { name: $name, kind: MetricType::$kind, unit: $unit, labels: &[$($label),*], help: $help };)*
        static $list: &[&MetricFamily] = &[$(&$id),*];
    };
}

/// All families in output order: those of the run, of its load as in the catalogue, of its search, and of what is watched.
pub static FAMILIES: LazyLock<Vec<&'static MetricFamily>> = LazyLock::new(|| {
    let mut families = OF_THE_RUN.to_vec();
    for LoadRow { measure, read, .. } in LOAD {
        let is_times = matches!(read, LoadReader::Times(_));
        add(
            &mut families,
            measure,
            &[],
            if is_times { MetricType::Histogram } else { MetricType::of(measure) },
        );
    }
    families.extend(OF_THE_SEARCH);
    for row in catalogue_rows() {
        add(&mut families, row.measure, &row.labels, MetricType::of(row.measure));
    }
    families
});

fn add(
    families: &mut Vec<&'static MetricFamily>,
    measure: &Measure,
    labels: &[&'static str],
    kind: MetricType,
) {
    let Some(metric) = measure.metric else { return };
    if !families.iter().any(|family| family.name == metric.family) {
        // Once per process.
        families.push(Box::leak(Box::new(MetricFamily::of(measure, metric, labels, kind))));
    }
}

/// The family of a catalogue measure.
pub(super) fn of_metric(name: &str) -> &'static MetricFamily {
    FAMILIES.iter().find(|family| family.name == name).expect("every metric of the catalogue is of a family")
}

families! { OF_THE_RUN {
    INFO: Info "torment_run_info" "" ["version", "goal", "host", "part_of"]
        "What is known of the run in words; part_of is the experiment that it is a measurement of.";
    RUNNING: Gauge "torment_run_running" "" []
        "1 while the run goes on, 0 when it has ended.";
    STARTED: Gauge "torment_run_start_time_seconds" "s" []
        "When the run began, since 1970.";
} }

families! { OF_THE_SEARCH {
    // Search and experiment.
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
} }
