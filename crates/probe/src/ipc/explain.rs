//! What the IPC figures consist of, and where their curves cross.

use super::{
    BUFFERED_SIZES, BUFFERS, ECHO_SIZES, FRAMED_SIZE, MessageFraming, THROUGHPUT_SIZES, Transport,
    buffer_column, framed_row, latency_row, placement_column, stream, throughput_row,
};
use crate::figure::{clamped_nanos, find_figure, median};
use crate::sides::{Placement, placement_note};
use record::{Figure, Summand};
use units::Bytes;

/// A pipe with less than this share of its best throughput has collapsed.
const COLLAPSE_SHARE: f64 = 0.7;
/// Below this size calls dominate, not bytes.
const SMALL: Bytes = Bytes(4 << 10);

pub fn explain(figures: &mut [Figure]) -> Vec<String> {
    for transport in Transport::ALL {
        for size in ECHO_SIZES {
            explain_latency(figures, transport, size);
        }
        for size in THROUGHPUT_SIZES {
            explain_throughput(figures, transport, size);
        }
    }
    for framing in [MessageFraming::Rpc, MessageFraming::Http] {
        for transport in [Transport::Tcp, Transport::Unix] {
            explain_framing(figures, framing, transport);
        }
    }
    explain_buffers(figures);
    let mut notes = Vec::new();
    if figures.is_empty() {
        return notes;
    }
    notes.extend(gain_note(figures));
    notes.extend(crossing_notes(figures));
    notes.extend(collapse_note(figures));
    notes.extend(stream::describe_buffers().ok());
    notes.extend(placement_note());
    notes
}

fn set_argument(figures: &mut [Figure], row: &str, column: &str, argument: String) {
    if let Some(figure) = find_figure(figures, row, column) {
        figure.argument = Some(argument);
    }
}

fn set_parts(figures: &mut [Figure], row: &str, column: &str, known: (&str, f64), rest: &str) {
    if let Some(figure) = find_figure(figures, row, column) {
        figure.parts = Summand::split(figure.median, known, rest);
    }
}

fn format_difference(figure: f64, other: f64, than: &str) -> String {
    match figure >= other {
        true => format!("{} more than {than}", clamped_nanos(figure - other)),
        false => format!("{} less than {than}", clamped_nanos(other - figure)),
    }
}

fn explain_latency(figures: &mut [Figure], transport: Transport, size: Bytes) {
    let row = latency_row(transport);
    let (one, two) = (placement_column(size, Placement::One), placement_column(size, Placement::Two));
    let pipe = median(figures, &latency_row(Transport::Pipe), &one);
    let here = median(figures, &row, &one);
    if let Some(here) = here {
        let against = |what: &str| {
            let beside = pipe
                .map_or_else(String::new, |pipe| format!("{}: ", format_difference(here, pipe, "the pipe")));
            format!("{beside}{what}")
        };
        let text = match transport {
            Transport::Pipe => format!("1 write, 1 read, a wake-up and a switch, 2 copies of {size}"),
            Transport::Socketpair | Transport::Unix => {
                against("a buffer with its bookkeeping for each message")
            }
            Transport::Tcp => {
                against("a segment through the loopback device, a soft interrupt, an acknowledgement")
            }
            Transport::SharedAsleep => {
                against("1 futex wake, 1 futex wait and a switch; the kernel copies nothing")
            }
            Transport::SharedBusy => against("no system call"),
        };
        set_argument(figures, &row, &one, text);
        if let Some(pipe) = pipe.filter(|_| transport != Transport::Pipe) {
            set_parts(figures, &row, &one, ("as through a pipe", pipe), "what it does more");
        }
    }
    let Some(apart) = median(figures, &row, &two) else { return };
    let text = match (transport, here) {
        (Transport::SharedBusy, _) => {
            "no system call: the lines of the message and of its number go from one processor's \
             cache to the other's; both processors are busy all the time"
                .to_owned()
        }
        (_, Some(here)) => {
            let why = match apart > here {
                true => "an idle processor is woken for each message",
                false => "both copy at once",
            };
            format!("{}: {why}", format_difference(apart, here, "on one processor"))
        }
        (_, None) => "an idle processor is woken for each message".to_owned(),
    };
    set_argument(figures, &row, &two, text);
    if let Some(here) = here.filter(|_| transport != Transport::SharedBusy) {
        set_parts(figures, &row, &two, ("as on one processor", here), "an idle processor is woken");
    }
}

fn explain_framing(figures: &mut [Figure], framing: MessageFraming, transport: Transport) {
    for place in [Placement::One, Placement::Two] {
        let (row, column) = (framed_row(framing, transport), placement_column(FRAMED_SIZE, place));
        let bare = median(figures, &latency_row(transport), &column);
        if let (Some(all), Some(bare)) = (median(figures, &row, &column), bare) {
            let than = format!("the bare message over {}", transport.name());
            set_argument(
                figures,
                &row,
                &column,
                format!("{}, {:.2} times", format_difference(all, bare, &than), all / bare),
            );
            set_parts(figures, &row, &column, ("the bare message", bare), "its frame");
        }
    }
}

/// Bytes per second with decimal prefixes, as for links and memory.
fn format_throughput(bytes: f64) -> String {
    if bytes >= 1e9 { format!("{:.1} GB/s", bytes / 1e9) } else { format!("{:.0} MB/s", bytes / 1e6) }
}

fn explain_throughput(figures: &mut [Figure], transport: Transport, size: Bytes) {
    let (row, column) = (throughput_row(transport), size.to_string());
    let Some(bytes) = median(figures, &row, &column) else { return };
    let each = 1e9 * size.0 as f64 / bytes;
    let what = match (transport, size <= SMALL) {
        (Transport::SharedBusy | Transport::SharedAsleep, true) => "its line changes processors",
        (_, true) => "a system call on either side, whatever its size",
        (Transport::SharedBusy | Transport::SharedAsleep, false) => {
            "copied in by one processor while the other copies out"
        }
        (_, false) => "copied in and copied out, and waking whoever waits",
    };
    set_argument(figures, &row, &column, format!("{} a message: {what}", clamped_nanos(each)));
}

fn explain_buffers(figures: &mut [Figure]) {
    for transport in [Transport::Unix, Transport::Pipe] {
        for size in BUFFERED_SIZES {
            let birth = median(figures, &throughput_row(transport), &size.to_string());
            for buffer in BUFFERS {
                let (row, column) = (throughput_row(transport), buffer_column(size, Some(buffer)));
                if let (Some(wide), Some(birth)) = (median(figures, &row, &column), birth) {
                    let text = format!("{:.1} times as with the buffer at birth", wide / birth);
                    set_argument(figures, &row, &column, text);
                }
            }
        }
    }
}

/// How much quicker a Unix socket is than TCP: the usual question.
fn gain_note(figures: &[Figure]) -> Option<String> {
    let column = placement_column(FRAMED_SIZE, Placement::One);
    let at = |medium| median(figures, &latency_row(medium), &column);
    let (tcp, unix) = (at(Transport::Tcp)?, at(Transport::Unix)?);
    let http = median(figures, &framed_row(MessageFraming::Http, Transport::Unix), &column)?;
    Some(format!(
        "{FRAMED_SIZE} one way on one processor: TCP {}, a Unix socket {}, {:.2} times as quick; HTTP/1.1 around it costs {} on either.",
        clamped_nanos(tcp),
        clamped_nanos(unix),
        tcp / unix,
        clamped_nanos(http - unix)
    ))
}

/// Sizes at which the curves of TCP and the Unix socket cross.
fn crossing_notes(figures: &[Figure]) -> Vec<String> {
    let points = |row: fn(Transport) -> String, sizes: &[Bytes], column: &dyn Fn(Bytes) -> String| {
        let at = |medium, size| median(figures, &row(medium), &column(size));
        let ratio = |size: Bytes| Some((size, (at(Transport::Tcp, size)? / at(Transport::Unix, size)?).ln()));
        sizes.iter().filter_map(|size| ratio(*size)).collect::<Vec<_>>()
    };
    let mut notes = Vec::new();
    for place in [Placement::One, Placement::Two] {
        let points = points(latency_row, &ECHO_SIZES, &|size| placement_column(size, place));
        let what = format!("one way on {}", place.name());
        notes.extend(crossing_note(&points, &what, "quicker", -1.0));
    }
    let points = points(throughput_row, &THROUGHPUT_SIZES, &|size| size.to_string());
    notes.extend(crossing_note(&points, "throughput", "the one that carries more", 1.0));
    notes
}

/// Interpolated in log-log space; `sign` is 1 where more is better. None for fewer than two points.
fn crossing_note(points: &[(Bytes, f64)], what: &str, better: &str, sign: f64) -> Option<String> {
    let [(first, ratio), .., (last, _)] = points else { return None };
    let crossed: Vec<Bytes> = points
        .windows(2)
        .filter_map(|two| {
            let [(size, ratio), (next, after)] = two else { return None };
            let part = ratio / (ratio - after);
            let (from, to) = ((size.0 as f64).ln(), (next.0 as f64).ln());
            (ratio.signum() != after.signum())
                .then(|| Bytes((from + part * (to - from)).exp().round() as u64))
        })
        .collect();
    let start = if ratio * sign > 0.0 { "TCP" } else { "the Unix socket" };
    Some(if crossed.is_empty() {
        format!(
            "TCP and Unix socket, {what}: the curves cross nowhere from {first} to {last}; {start} is {better} throughout."
        )
    } else {
        let sizes: Vec<String> = crossed.iter().map(ToString::to_string).collect();
        format!(
            "TCP and Unix socket, {what}: at {first} {start} is {better}; the curves cross at about {}.",
            sizes.join(" and ")
        )
    })
}

/// Behaviour of a pipe when a message is as large as its buffer.
fn collapse_note(figures: &[Figure]) -> Option<String> {
    let row = throughput_row(Transport::Pipe);
    let at = |size: Bytes| Some((size, median(figures, &row, &size.to_string())?));
    let all: Vec<(Bytes, f64)> = THROUGHPUT_SIZES.iter().filter_map(|size| at(*size)).collect();
    let (best, most) = all.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let (size, least) =
        all.iter().copied().find(|(size, bytes)| *size > best && *bytes < COLLAPSE_SHARE * most)?;
    let wide = BUFFERS[BUFFERS.len() - 1];
    let wide_rate = median(figures, &row, &buffer_column(size, Some(wide)));
    Some(format!(
        "The pipe carries {} with messages of {best} and {} with those of {size}: a message that fills the buffer has both sides \
         take turns, each turn waking the other's processor{}.",
        format_throughput(most),
        format_throughput(least),
        wide_rate.map_or_else(String::new, |bytes| format!(
            "; with a buffer of {wide} it carries {}",
            format_throughput(bytes)
        ))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FigureUnit;

    fn figure(row: String, column: String, median: f64) -> Figure {
        Figure::from_blocks(("ipc", &row, &column), FigureUnit::Nanos, vec![median], 1)
            .expect("it is a number")
    }

    #[test]
    fn curves_cross_where_they_do() {
        let points = [(Bytes(64), -1.0), (Bytes(4096), -0.5), (Bytes(65536), 0.5)];
        let text = crossing_note(&points, "throughput", "ahead", 1.0).expect("there are points");
        assert!(
            text.contains("at 64 B the Unix socket is ahead") && text.contains("at about 16 KiB"),
            "{text}"
        );
        let text = crossing_note(&points[..2], "one way", "quicker", -1.0).expect("there are points");
        assert!(text.contains("nowhere from 64 B to 4 KiB; TCP is quicker"), "{text}");
        assert_eq!(crossing_note(&points[..1], "", "", 1.0), None);
    }

    #[test]
    fn figures_are_held_against_each_other() {
        let column = placement_column(FRAMED_SIZE, Placement::One);
        let mut figures = vec![
            figure(latency_row(Transport::Tcp), column.clone(), 8660.0),
            figure(latency_row(Transport::Unix), column.clone(), 4740.0),
            figure(latency_row(Transport::Pipe), column.clone(), 2750.0),
            figure(framed_row(MessageFraming::Http, Transport::Unix), column, 6740.0),
            figure(throughput_row(Transport::Pipe), "4 KiB".to_owned(), 3.4e9),
            figure(throughput_row(Transport::Pipe), "64 KiB".to_owned(), 0.6e9),
        ];
        let notes = explain(&mut figures);
        assert!(
            figures[0].argument.as_ref().is_some_and(|text| text.starts_with("5.91 µs more than the pipe"))
        );
        assert!(
            figures[3].argument.as_ref().is_some_and(|text| text.contains("1.42 times")),
            "{:?}",
            figures[3]
        );
        let parts: Vec<&str> = figures[3].parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(parts, ["the bare message", "its frame"]);
        assert!(figures[2].parts.is_empty(), "the pipe is what others are held against: {:?}", figures[2]);
        assert!(notes[0].contains("1.83 times") && notes[0].contains("costs 2 µs"), "{}", notes[0]);
        assert!(
            notes.iter().any(|note| note.contains("3.4 GB/s with messages of 4 KiB and 600 MB/s")),
            "{notes:?}"
        );
        assert!(notes.iter().any(|note| note.starts_with("Buffers at birth")), "{notes:?}");
    }
}
