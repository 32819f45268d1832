//! An entity and its rows.

use super::Weights;
use std::borrow::Cow;

/// What is measured, in what.
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
    /// Memory, or what was sent.
    Bytes,
    /// A number of these.
    Count(&'static str),
    /// Processors, or a part of one.
    Processors,
    /// A part of a whole, from 0 to 1.
    Share,
    /// How many of these a second.
    PerSecond(&'static str),
    /// What an interface carries.
    BitsPerSecond,
    /// Whatever a metrics endpoint gives.
    AsGiven,
}

impl Quantity {
    /// The unit in words, after [`Quantity::of`].
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

    /// As it was counted, in that unit.
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
    /// What it is called within its source.
    pub name: &'static str,
    /// In what it is counted.
    pub quantity: Quantity,
    /// What it says, as a part of a sentence.
    pub help: &'static str,
    /// Whether it only grows; a window has by how much it did.
    pub grows: bool,
    /// Whether it is a whole number as counted.
    pub whole: bool,
    /// As other people's tools have it while a run lasts.
    pub metric: Option<Metric>,
}

/// The sample of a family of metrics that a measure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// The family's name, as Prometheus has it.
    pub family: &'static str,
    /// What tells it from others of that family; no value where each of several has its own.
    pub label: Option<(&'static str, &'static str)>,
    /// What the family says, in a sentence; if none, what its first measure does.
    pub words: Option<&'static str>,
}

/// Of what a value is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueLabels<'a> {
    /// What it was read from.
    pub source: &'static str,
    /// The place of the process tree.
    pub subject: Option<usize>,
    /// A process.
    pub pid: Option<u32>,
    /// Labels and their values, from the outermost inwards.
    pub names: Vec<(&'static str, Cow<'a, str>)>,
}

impl ValueLabels<'_> {
    /// The value of a label; none if it has no such.
    pub fn name(&self, label: &str) -> Option<&str> {
        self.names.iter().find(|(known, _)| *known == label).map(|(_, name)| name.as_ref())
    }
}

/// Who takes values: of what, which, and as it was counted.
pub type ValueVisitor<'a> = dyn FnMut(&ValueLabels<'_>, &'static Measure, f64) + 'a;

/// Something of which numbers are seen.
pub trait Entity {
    /// The source it is told under; none: that of what it is a part of.
    const SOURCE: Option<&'static str>;
    /// Labels that tell several of it apart.
    const LABELS: &'static [&'static str];

    /// Its rows.
    fn rows() -> &'static [Measure];
    /// Rows of all that it is made of, its own first.
    fn list(from: &CatalogueRow, list: &mut Vec<CatalogueRow>);
    /// Whether there is anything to be seen of it.
    fn is_there(&self) -> bool {
        true
    }
    /// Says which one it is.
    fn label<'a>(&'a self, _of: &mut ValueLabels<'a>) {}
    /// All its values, and those of its parts.
    fn visit(&self, of: &ValueLabels<'_>, see: &mut ValueVisitor<'_>);
    /// Adds what was seen next.
    fn merge(&mut self, next: &Self, weights: Weights);
    /// See [`super::aggregation::Aggregation::dilute`].
    fn dilute(&mut self, share: f64, gone: bool);
}

/// A row with what it is a row of.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueRow {
    /// What it is read from.
    pub source: &'static str,
    /// What tells its values apart.
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

/// Says that a type is an [`Entity`]:
///
/// - `field: Kind quantity, "name", "what it says";` for each number, `if` it can be trusted, `=> "family"` of metrics, `label "value"` there,
///   `"what the family says."` if that is something else;
/// - `derived` for what follows from several numbers;
/// - `parts` that are entities, and lists of them; `latest` those of which the latest is kept;
/// - `words` that stay what they last were;
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
        impl $crate::catalogue::Entity for $entity {
            const SOURCE: Option<&'static str> = [$(Some($source),)? None][0];
            const LABELS: &'static [&'static str] = [$(&$labels as &[_],)? &[]][0];

            fn rows() -> &'static [$crate::catalogue::Measure] {
                #[allow(unused_imports)]
                use $crate::catalogue::Quantity::*;
                static ROWS: &[$crate::catalogue::Measure] = &[
                    $($crate::catalogue::Measure {
                        field: stringify!($field),
                        name: $name,
                        quantity: $quantity,
                        help: $help,
                        grows: $crate::catalogue::$kind::GROWS,
                        whole: $crate::catalogue::$kind::WHOLE,
                        metric: [$(Some($crate::catalogue::Metric {
                            family: $family,
                            label: [$(Some((stringify!($label), $value)),)? None][0],
                            words: [$(Some($words),)? None][0],
                        }),)? None][0],
                    },)*
                    $($($crate::catalogue::Measure {
                        field: "",
                        name: $d_name,
                        quantity: $d_quantity,
                        help: $d_help,
                        grows: $crate::catalogue::$d_kind::GROWS,
                        whole: $crate::catalogue::$d_kind::WHOLE,
                        metric: [$(Some($crate::catalogue::Metric {
                            family: $d_family,
                            label: [$(Some((stringify!($d_label), $d_value)),)? None][0],
                            words: [$(Some($d_words),)? None][0],
                        }),)? None][0],
                    },)*)?
                ];
                ROWS
            }

            fn list(from: &$crate::catalogue::CatalogueRow, list: &mut Vec<$crate::catalogue::CatalogueRow>) {
                #[allow(unused_imports)]
                use $crate::catalogue::Component;
                let from = $crate::catalogue::entity::with_labels::<Self>(from);
                list.extend(Self::rows().iter().map(|measure| $crate::catalogue::CatalogueRow { measure, ..from.clone() }));
                $($(<$part_type>::list(&from, list);)*)?
                $($(<$latest_type>::list(&from, list);)*)?
            }

            $(fn is_there(&self) -> bool {
                let there: fn(&Self) -> bool = $there;
                there(self)
            })?

            $(fn label<'a>(&'a self, of: &mut $crate::catalogue::ValueLabels<'a>) {
                let label: for<'b> fn(&'b Self, &mut $crate::catalogue::ValueLabels<'b>) = $name_it;
                label(self, of);
            })?

            #[allow(unused_assignments, unused_mut, unused_variables)]
            #[inline(never)]
            fn visit(&self, of: &$crate::catalogue::ValueLabels<'_>, see: &mut $crate::catalogue::entity::ValueVisitor<'_>) {
                #[allow(unused_imports)]
                use $crate::catalogue::{self, aggregation::Aggregation};
                #[allow(unused_imports)]
                use $crate::catalogue::Component;
                if !self.is_there() {
                    return;
                }
                let mut of = of.clone();
                of.source = <Self as $crate::catalogue::Entity>::SOURCE.unwrap_or(of.source);
                self.label(&mut of);
                let mut rows = Self::rows().iter();
                $($crate::catalogue::entity::visit_value(&of, rows.next(), see, catalogue::$kind::read(&self.$field)$(.filter(|_| {
                    let holds: fn(&Self) -> bool = $guard;
                    holds(self)
                }))?);)*
                $($($crate::catalogue::entity::visit_value(&of, rows.next(), see, {
                    let read: fn(&Self) -> Option<f64> = $d_read;
                    read(self)
                });)*)?
                $($(self.$part.visit(&of, see);)*)?
                $($(self.$latest.visit(&of, see);)*)?
            }

            #[allow(unused_variables)]
            #[inline(never)]
            fn merge(&mut self, next: &Self, weights: $crate::catalogue::Weights) {
                #[allow(unused_imports)]
                use $crate::catalogue::{self, aggregation::Aggregation};
                #[allow(unused_imports)]
                use $crate::catalogue::Component;
                $(let weights = catalogue::Weights::of(f64::from(self.$looks), f64::from(next.$looks));)?
                $(catalogue::$kind::merge(&mut self.$field, &next.$field, weights);)*
                $($(self.$part.merge(&next.$part, weights);)*)?
                $($(self.$latest.take_latest(&next.$latest);)*)?
                $($(catalogue::merge::keep_latest(&mut self.$word, &next.$word);)*)?
            }

            #[allow(unused_variables)]
            #[inline(never)]
            fn dilute(&mut self, share: f64, gone: bool) {
                #[allow(unused_imports)]
                use $crate::catalogue::{self, aggregation::Aggregation};
                #[allow(unused_imports)]
                use $crate::catalogue::Component;
                $(catalogue::$kind::dilute(&mut self.$field, share, gone);)*
                $($(self.$part.dilute(share, gone);)*)?
            }
        }
    };
}

/// Says a value, if there is one. Not inlined, and so nothing here that is made of rows: that a window is looked at takes microseconds either
/// way, and the compiler would take half a minute.
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

/// Where the rows of an entity stand.
pub(crate) fn with_labels<N: Entity + ?Sized>(from: &CatalogueRow) -> CatalogueRow {
    let labels = [&from.labels, N::LABELS].concat();
    CatalogueRow { source: N::SOURCE.unwrap_or(from.source), labels, measure: from.measure }
}

pub(crate) use entity;
