//! An entity and its rows.

use super::Weights;
use std::borrow::Cow;

/// What a number measures, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Time, counted in nanoseconds.
    Ns,
    /// Time, counted in microseconds.
    Us,
    /// Time, counted in milliseconds.
    Ms,
    /// Time in seconds.
    Seconds,
    /// Memory, or bytes transferred.
    Bytes,
    /// A number of these things.
    Count(&'static str),
    /// Processors, or a part of one.
    Processors,
    /// A share, 0 to 1.
    Share,
    /// A rate of these per second.
    PerSecond(&'static str),
    /// Bandwidth of an interface.
    BitsPerSecond,
    /// As given by a metrics endpoint.
    AsGiven,
}

impl Quantity {
    /// The unit in words, after conversion by [`Quantity::of`].
    pub fn unit(self) -> &'static str {
        match self {
            Self::Ns | Self::Us | Self::Ms | Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Count(_) => "count",
            Self::Processors => "processors",
            Self::Share => "share",
            Self::PerSecond(_) => "per second",
            Self::BitsPerSecond => "bits per second",
            Self::AsGiven => "as given",
        }
    }

    /// The unit as OpenTelemetry writes it (UCUM).
    pub fn ucum(self) -> String {
        match self {
            Self::Ns | Self::Us | Self::Ms | Self::Seconds => "s".to_owned(),
            Self::Bytes => "By".to_owned(),
            Self::Count(of) => format!("{{{of}}}"),
            Self::Processors => "{cpu}".to_owned(),
            Self::Share => "1".to_owned(),
            Self::PerSecond(of) => format!("{{{of}}}/s"),
            Self::BitsPerSecond => "bit/s".to_owned(),
            Self::AsGiven => String::new(),
        }
    }

    /// Converts a raw count to that unit.
    pub fn of(self, counted: f64) -> f64 {
        match self {
            Self::Ns => counted / 1e9,
            Self::Us => counted / 1e6,
            Self::Ms => counted / 1e3,
            _ => counted,
        }
    }
}

/// A row of the catalogue.
#[derive(Debug, PartialEq)]
pub struct Measure {
    /// The field it is read from.
    pub field: &'static str,
    /// Its name within its source.
    pub name: &'static str,
    /// Its unit.
    pub quantity: Quantity,
    /// Description, as part of a sentence.
    pub help: &'static str,
    /// Whether it is a counter; a window then has its increase.
    pub grows: bool,
    /// Whether the raw count is an integer.
    pub whole: bool,
    /// Its OpenMetrics form while a run lasts.
    pub metric: Option<Metric>,
}

/// The sample of a metric family that a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The family's name, as in Prometheus.
    pub family: &'static str,
    /// The label that distinguishes it within the family; no value if each of several has its own.
    pub label: Option<(&'static str, &'static str)>,
    /// The family's help, as a sentence; none: its first measure's.
    pub words: Option<&'static str>,
}

/// What a value belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueLabels<'a> {
    /// What it was read from.
    pub source: &'static str,
    /// Index of the process tree.
    pub subject: Option<usize>,
    /// A process.
    pub pid: Option<u32>,
    /// Labels and their values, outermost first.
    pub names: Vec<(&'static str, Cow<'a, str>)>,
}

impl ValueLabels<'_> {
    /// The value of a label, if present.
    pub fn name(&self, label: &str) -> Option<&str> {
        self.names.iter().find(|(known, _)| *known == label).map(|(_, name)| name.as_ref())
    }
}

/// Receives values: what they belong to, their measure, and the raw count.
pub type ValueVisitor<'a> = dyn FnMut(&ValueLabels<'_>, &'static Measure, f64) + 'a;

/// Something with measured numbers.
pub trait Entity {
    /// Its source; none: its parent's.
    const SOURCE: Option<&'static str>;
    /// Labels that distinguish several of it.
    const LABELS: &'static [&'static str];

    /// Its rows.
    fn rows() -> &'static [Measure];
    /// Appends the rows of everything it is made of, its own first.
    fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>);
    /// Whether there is anything to see of it.
    fn is_there(&self) -> bool {
        true
    }
    /// Adds the labels that identify it.
    fn label<'a>(&'a self, _of: &mut ValueLabels<'a>) {}
    /// Visits all its values, and those of its parts.
    fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>);
    /// Merges what was seen next.
    fn merge(&mut self, next: &Self, weights: Weights);
    /// See `Aggregation::dilute`.
    fn dilute(&mut self, share: f64, gone: bool);
}

/// A row with its context.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueRow {
    /// Source of its values.
    pub source: &'static str,
    /// Labels of its values.
    pub labels: Vec<&'static str>,
    /// The row.
    pub measure: &'static Measure,
}

static NOTHING: Measure = Measure {
    field: "",
    name: "",
    quantity: Quantity::AsGiven,
    help: "",
    grows: false,
    whole: false,
    metric: None,
};

/// The whole catalogue.
pub fn catalogue_rows() -> Vec<CatalogueRow> {
    let mut list = Vec::new();
    let nothing = CatalogueRow { source: "", labels: Vec::new(), measure: &NOTHING };
    crate::watch::Window::list(&nothing, &mut list);
    list
}

/// The metric of a row, if it has one: family, label and value, help.
macro_rules! metric {
    () => { None };
    ($family:literal $($label:ident $value:literal)? $(, $words:literal)?) => {
        Some($crate::catalogue::Metric {
            family: $family,
            label: [$(Some((stringify!($label), $value)),)? None][0],
            words: [$(Some($words),)? None][0],
        })
    };
}

/// Implements [`Entity`] for a type, where what it names is imported:
///
/// - `field: Kind quantity, "name", "help";` for each number, `if` it can be trusted, `=> "family"` of metrics, `label "value"` there,
///   `"the family's help."` if different;
/// - `derived` for what follows from several numbers;
/// - `parts` that are entities, or lists of them; `latest`, of which the latest is kept;
/// - `words` that keep their last value;
/// - `weighed by` a number of looks, instead of time.
macro_rules! entity {
    (
        $entity:ty $(, of $source:literal)? $(, by $labels:tt)? {
            $($field:tt: $kind:ident $quantity:expr, $name:literal, $help:literal
                $(, if $guard:expr)? $(=> $family:literal $($label:ident $value:literal)? $(, $words:literal)?)?;)*
        }
        $(derived { $($d_name:literal $d_kind:ident $d_quantity:expr, $d_help:literal, $d_read:expr $(=> $d_family:literal $($d_label:ident $d_value:literal)? $(, $d_words:literal)?)?;)* })?
        $(parts { $($part:ident: $part_type:ty),* $(,)? })?
        $(latest { $($latest:ident: $latest_type:ty),* $(,)? })?
        $(words { $($word:ident),* $(,)? })?
        $(weighed by $looks:ident)?
        $(there if $there:expr;)?
        $(label $name_it:expr;)?
    ) => {
        impl Entity for $entity {
            const SOURCE: Option<&'static str> = [$(Some($source),)? None][0];
            const LABELS: &'static [&'static str] = [$(&$labels as &[_],)? &[]][0];

            fn rows() -> &'static [Measure] {
                static ROWS: &[Measure] = &[
                    $(Measure {
                        field: stringify!($field),
                        name: $name,
                        quantity: $quantity,
                        help: $help,
                        grows: aggregation::$kind::GROWS,
                        whole: aggregation::$kind::WHOLE,
                        metric: metric!($($family $($label $value)? $(, $words)?)?),
                    },)*
                    $($(Measure {
                        field: "",
                        name: $d_name,
                        quantity: $d_quantity,
                        help: $d_help,
                        grows: aggregation::$d_kind::GROWS,
                        whole: aggregation::$d_kind::WHOLE,
                        metric: metric!($($d_family $($d_label $d_value)? $(, $d_words)?)?),
                    },)*)?
                ];
                ROWS
            }

            fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>) {
                let from = with_labels::<Self>(from);
                list.extend(Self::rows().iter().map(|measure| CatalogueRow { measure, ..from.clone() }));
                $($(<$part_type>::list(&from, list);)*)?
                $($(<$latest_type>::list(&from, list);)*)?
            }

            $(fn is_there(&self) -> bool {
                let there: fn(&Self) -> bool = $there;
                there(self)
            })?

            $(fn label<'a>(&'a self, of: &mut ValueLabels<'a>) {
                let label: for<'b> fn(&'b Self, &mut ValueLabels<'b>) = $name_it;
                label(self, of);
            })?

            #[allow(unused_assignments, unused_mut, unused_variables)]
            #[inline(never)]
            fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>) {
                if !self.is_there() {
                    return;
                }
                let mut of = of.clone();
                of.source = <Self as Entity>::SOURCE.unwrap_or(of.source);
                self.label(&mut of);
                let mut rows = Self::rows().iter();
                $(visit_value(&of, rows.next(), see, aggregation::$kind::read(&self.$field)$(.filter(|_| {
                    let holds: fn(&Self) -> bool = $guard;
                    holds(self)
                }))?);)*
                $($(visit_value(&of, rows.next(), see, {
                    let read: fn(&Self) -> Option<f64> = $d_read;
                    read(self)
                });)*)?
                $($(self.$part.visit(&of, see);)*)?
                $($(self.$latest.visit(&of, see);)*)?
            }

            #[allow(unused_variables)]
            #[inline(never)]
            fn merge(&mut self, next: &Self, weights: Weights) {
                $(let weights = Weights::of(f64::from(self.$looks), f64::from(next.$looks));)?
                $(aggregation::$kind::merge(&mut self.$field, &next.$field, weights);)*
                $($(self.$part.merge(&next.$part, weights);)*)?
                $($(self.$latest.take_latest(&next.$latest);)*)?
                $($(keep_latest(&mut self.$word, &next.$word);)*)?
            }

            #[allow(unused_variables)]
            #[inline(never)]
            fn dilute(&mut self, share: f64, gone: bool) {
                $(aggregation::$kind::dilute(&mut self.$field, share, gone);)*
                $($(self.$part.dilute(share, gone);)*)?
            }
        }
    };
}

/// Reports a value, if there is one. Like everything here made of rows, not inlined: looking at a window takes microseconds either way,
/// and compiling would take half a minute.
#[inline(never)]
pub(crate) fn visit_value(
    of: &ValueLabels<'_>,
    row: Option<&'static Measure>,
    see: &mut ValueVisitor<'_>,
    value: Option<f64>,
) {
    if let (Some(row), Some(value)) = (row, value.filter(|value| value.is_finite())) {
        see(of, row, value);
    }
}

/// Adds the entity's source and labels to a row's context.
pub(crate) fn with_labels<N: Entity + ?Sized>(from: &CatalogueRow) -> CatalogueRow {
    let labels = [&from.labels, N::LABELS].concat();
    CatalogueRow { source: N::SOURCE.unwrap_or(from.source), labels, measure: from.measure }
}

pub(crate) use {entity, metric};
