//! What a run calls what arrives, and what it raises.

use record::{LimitUnit, RunKind};
use std::fmt::Write;
use units::{Nanos, Rate, grouped};

/// What arrives at the target, and what is raised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Requests, at a rate.
    #[default]
    Requests,
    /// Starts of a program, at a rate.
    Processes,
    /// Requests, over so many connections.
    Connections,
}

impl ArrivalKind {
    /// Those of a kind of run.
    pub fn from_run_kind(kind: &RunKind) -> Self {
        match kind {
            RunKind::FindProcesses | RunKind::RunProcesses => Self::Processes,
            RunKind::FindConnections => Self::Connections,
            _ => Self::Requests,
        }
    }

    /// What arrives, as a word.
    pub fn arrival(self) -> &'static str {
        match self {
            Self::Requests | Self::Connections => "request",
            Self::Processes => "process",
        }
    }

    /// Several of it.
    pub fn arrivals(self) -> &'static str {
        match self {
            Self::Requests | Self::Connections => "requests",
            Self::Processes => "processes",
        }
    }

    /// So many of them: `59,520 requests`.
    pub fn count(self, n: u64) -> String {
        let word = if n == 1 { self.arrival() } else { self.arrivals() };
        format!("{} {word}", grouped(n))
    }

    /// What is raised, as a word.
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

/// What somebody called something, so that its words are none of the sentence's.
pub(crate) fn quoted(name: &str) -> String {
    format!("“{name}”")
}

/// As much of a text as fits.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// Text with one blank where a terminal has several.
pub(crate) fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How HTML and XML write a letter that would be markup; nothing of any other.
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

/// Text that is text in XML 1.0, in an element and between quotes; characters that may not stand there at all are replaced.
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

/// Behind what is said of a place: ` on b`; nothing where torment is, which has no name.
pub(crate) fn place_suffix(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" on {place}") }
}

/// To three significant digits: more of them would promise what no prediction can keep.
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
