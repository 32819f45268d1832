//! Words for what arrives in a run, and for what it raises.

use record::{LimitUnit, RunKind};
use std::fmt::Write;
use units::{Nanos, Rate, grouped};

/// What arrives at the target, and what is raised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Requests at a rate.
    #[default]
    Requests,
    /// Program starts at a rate.
    Processes,
    /// Requests over a number of connections.
    Connections,
}

impl ArrivalKind {
    /// The kind for a run.
    pub fn from_run_kind(kind: &RunKind) -> Self {
        match kind {
            RunKind::FindProcesses | RunKind::RunProcesses => Self::Processes,
            RunKind::FindConnections => Self::Connections,
            _ => Self::Requests,
        }
    }

    /// The noun for one arrival.
    pub fn arrival(self) -> &'static str {
        match self {
            Self::Requests | Self::Connections => "request",
            Self::Processes => "process",
        }
    }

    /// The noun for several.
    pub fn arrivals(self) -> &'static str {
        match self {
            Self::Requests | Self::Connections => "requests",
            Self::Processes => "processes",
        }
    }

    /// A number of them: `59,520 requests`.
    pub fn count(self, n: u64) -> String {
        let word = if n == 1 { self.arrival() } else { self.arrivals() };
        format!("{} {word}", grouped(n))
    }

    /// The noun for what is raised.
    pub fn raised(self) -> &'static str {
        match self {
            Self::Requests | Self::Processes => "rate",
            Self::Connections => "number",
        }
    }

    /// The unit of what is raised.
    pub fn unit(self) -> LimitUnit {
        match self {
            Self::Requests => LimitUnit::Requests,
            Self::Processes => LimitUnit::Processes,
            Self::Connections => LimitUnit::Connections,
        }
    }
}

/// A rate without its unit: `1,984`.
pub fn format_rate(rate: f64) -> String {
    Rate(rate).to_string().trim_end_matches("/s").to_owned()
}

/// Quotes a user-given name, to set it apart from the sentence.
pub(crate) fn quoted(name: &str) -> String {
    format!("“{name}”")
}

/// A table's cell: a dash if there is no value.
pub(crate) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// In order of first appearance.
pub(crate) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}

/// `1 start`, `3 starts`.
pub(crate) fn number_of(count: usize, thing: &str) -> String {
    let plural = match thing.strip_suffix('s') {
        Some(stem) if thing.ends_with("sis") => format!("{}es", &stem[..stem.len() - 1]),
        _ => format!("{thing}s"),
    };
    format!("{} {}", grouped(count as u64), if count == 1 { thing } else { &plural })
}

/// Shortens text to fit.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// Collapses runs of blanks, which align text on a terminal.
pub(crate) fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The HTML and XML entity of a character that would be markup; empty for others.
pub(crate) fn xml_entity(letter: char) -> &'static str {
    match letter {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&apos;",
        _ => "",
    }
}

/// Escapes text for XML 1.0 elements and attributes; characters not allowed at all are replaced.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '<' | '>' | '"' | '\'' => out.push_str(xml_entity(letter)),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(letter));
            }
            letter if letter < ' ' || matches!(letter, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// Suffix that names a place: ` on b`; empty for torment's own, which has no name.
pub(crate) fn place_suffix(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" on {place}") }
}

/// To three significant digits: no prediction is more precise.
pub(crate) fn rounded(Rate(rate): Rate) -> Rate {
    let last = 10_f64.powi((rate.log10().floor() as i32 - 2).max(0));
    Rate((rate / last).round() * last)
}

/// To whole seconds, from one second on.
pub(crate) fn whole_seconds(time: Nanos) -> Nanos {
    if time < Nanos::from_secs(1) { time } else { Nanos::from_secs(time.as_secs_f64().round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_plural() {
        assert_eq!(number_of(1, "hypothesis"), "1 hypothesis");
        assert_eq!(number_of(4, "hypothesis"), "4 hypotheses");
        assert_eq!(number_of(0, "start"), "0 starts");
    }

    #[test]
    fn each_command_has_its_own() {
        let said = |kind| {
            let words = ArrivalKind::from_run_kind(&kind);
            format!("{} of {}, {}", words.count(1), words.count(2000), words.unit())
        };
        assert_eq!(said(RunKind::Find), "1 request of 2,000 requests, requests/s");
        assert_eq!(said(RunKind::RunProcesses), "1 process of 2,000 processes, processes/s");
        assert_eq!(said(RunKind::FindConnections), "1 request of 2,000 requests, connections");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            escape_xml("<a b='c'>&\"\u{1}\n\u{ffff}ü"),
            "&lt;a b=&apos;c&apos;&gt;&amp;&quot;\u{fffd}&#10;\u{fffd}ü"
        );
    }
}
