//! What the handover figures consist of, and which of them are not context switches.

use super::{BY_HAND, ECHO, TOKIO, WakeMechanism};
use crate::figure::{clamped_nanos, find_figure, median};
use crate::runtimes;
use crate::sides::{Placement, TaskKind, placement_note};
use record::{Caveat, CaveatKind, Figure, Summand};

/// With fewer context switches per handover the figure is something else.
const MIN_SWITCHES: f64 = 0.95;
const MAX_SWITCHES: f64 = 1.05;
const NOT_ONE: CaveatKind = CaveatKind::NotASwitch;
/// Sides found on different processors in more than this share of the samples usually ran apart.
const MIN_APART_SHARE: f64 = 0.5;

pub fn explain(figures: &mut [Figure]) -> Vec<String> {
    for mechanism in WakeMechanism::ALL {
        for kind in [TaskKind::Threads, TaskKind::Processes] {
            explain_handovers(figures, mechanism, kind);
        }
    }
    explain_echoes(figures);
    explain_tasks(figures);
    let mut notes = summary(figures);
    notes.extend(placement_note());
    notes
}

fn row(mechanism: WakeMechanism, kind: TaskKind) -> String {
    format!("{}, {}", mechanism.name(), kind.name())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The figures of a row, in all placements.
fn explain_handovers(figures: &mut [Figure], mechanism: WakeMechanism, kind: TaskKind) {
    let row = row(mechanism, kind);
    let calls = median(figures, mechanism.calls_alone_row(), Placement::One.name());
    let one = median(figures, &row, Placement::One.name());
    let threads = match kind {
        TaskKind::Threads => None,
        TaskKind::Processes => {
            median(figures, &self::row(mechanism, TaskKind::Threads), Placement::One.name())
        }
    };
    for place in [Placement::One, Placement::Two, Placement::Free] {
        let Some(figure) = find_figure(figures, &row, place.name()) else { continue };
        let switches = figure.switches.unwrap_or_default();
        let (argument, parts) = match place {
            Placement::One => explain_handover(mechanism, figure.median, calls, switches, threads),
            _ => explain_placement(mechanism, place, figure, one),
        };
        (figure.argument, figure.parts) = (Some(argument), parts);
        if !(MIN_SWITCHES..=MAX_SWITCHES).contains(&switches) {
            let text = format!(
                "{switches:.2} context switches a handover were counted, not 1: {}",
                switch_count_reason(mechanism, place, switches)
            );
            figure.caveats.push(Caveat::new(NOT_ONE, text));
        }
    }
}

/// On one processor: system calls and switch, also as a sum, where there is one. `threads` is the same handover between
/// threads, for one between processes.
fn explain_handover(
    mechanism: WakeMechanism,
    all: f64,
    calls: Option<f64>,
    switches: f64,
    threads: Option<f64>,
) -> (String, Vec<Summand>) {
    let calls = calls.filter(|_| mechanism != WakeMechanism::Condition);
    let (count, rest, nobody) = match mechanism {
        WakeMechanism::Yield => ("1 system call", "switch", "; nobody is woken"),
        _ => ("2 system calls", "wake-up and switch", ""),
    };
    let (mut text, mut parts) = match calls {
        Some(calls) => (
            format!("{count} {} + {rest} {}{nobody}", clamped_nanos(calls), clamped_nanos(all - calls)),
            Summand::split(all, (count, calls), rest),
        ),
        None => (
            format!(
                "{switches:.2} switches, with their system calls: the mutex is held when the other is woken"
            ),
            Vec::new(),
        ),
    };
    if let Some(threads) = threads.filter(|threads| all > *threads) {
        let change = all - threads;
        text.push_str(&format!(
            "; {} of it the change of the address space, which threads do not have",
            clamped_nanos(change)
        ));
        if let Some(calls) = calls.filter(|calls| threads > *calls) {
            parts = Summand::split(threads, (count, calls), rest);
            parts.push(Summand::new("change of the address space", change));
        }
    }
    (text, parts)
}

/// On two processors, or anywhere: what waking an idle processor adds.
fn explain_placement(
    mechanism: WakeMechanism,
    place: Placement,
    figure: &Figure,
    one: Option<f64>,
) -> (String, Vec<Summand>) {
    if mechanism == WakeMechanism::Yield {
        let text = "each side yields on its own processor: nobody waits, and nothing is handed over";
        return (text.to_owned(), Vec::new());
    }
    // Of the samples that found both sides on different processors.
    let share = figure.apart.unwrap_or(if place == Placement::Two { 1.0 } else { 0.0 });
    let crossed = match place {
        Placement::Free => {
            format!("both sides were on different processors in {} of the looks: ", percent(share))
        }
        _ => String::new(),
    };
    let Some(one) = one else {
        return (format!("{crossed}there is no figure of one processor to hold it against"), Vec::new());
    };
    if share <= MIN_APART_SHARE {
        let text = "the scheduler keeps both together, so that it is the figure of one processor";
        return (format!("{crossed}{text}"), Vec::new());
    }
    let text = match figure.median > one {
        true => format!(
            "{crossed}{} more than on one processor: an idle processor is woken by an interrupt from another, on a \
             virtual machine through its host",
            clamped_nanos(figure.median - one)
        ),
        false => format!(
            "{crossed}{} less than on one processor: both run at once",
            clamped_nanos(one - figure.median)
        ),
    };
    (text, Summand::split(figure.median, ("as on one processor", one), "an idle processor is woken"))
}

fn switch_count_reason(mechanism: WakeMechanism, place: Placement, switches: f64) -> &'static str {
    match (mechanism, switches < MIN_SWITCHES) {
        (WakeMechanism::Yield, true) if place != Placement::One => {
            "who yields finds nobody waiting for its processor, and goes on"
        }
        (WakeMechanism::Yield, true) => "the scheduler does not always go to another when asked",
        (_, true) => "often the other side was still running, or already, when it was its turn",
        (WakeMechanism::Condition, false) => "who is woken finds the mutex still held, and sleeps again",
        (_, false) => "there is more than one sleep to a handover, or others ran between",
    }
}

fn explain_echoes(figures: &mut [Figure]) {
    let pipe = row(WakeMechanism::Pipe, TaskKind::Threads);
    for place in [Placement::One, Placement::Two, Placement::Free] {
        let handover = median(figures, &pipe, place.name());
        let Some(figure) = find_figure(figures, ECHO, place.name()) else { continue };
        let each = 1e9 / figure.median;
        figure.argument = Some(match handover {
            Some(handover) => {
                format!(
                    "{} each: two handovers through a pipe are {}",
                    clamped_nanos(each),
                    clamped_nanos(2.0 * handover)
                )
            }
            None => format!("{} each", clamped_nanos(each)),
        });
    }
}

fn explain_tasks(figures: &mut [Figure]) {
    let futex = median(figures, &row(WakeMechanism::Futex, TaskKind::Threads), Placement::One.name());
    let floor = median(figures, BY_HAND, Placement::One.name());
    if let Some(figure) = find_figure(figures, BY_HAND, Placement::One.name()) {
        figure.argument =
            Some("no system call: a flag is set, a function returns and another is called".to_owned());
    }
    if let Some(figure) = find_figure(figures, TOKIO, Placement::One.name()) {
        let mut text = "no system call: a queue, a waker and the scheduler of the runtime".to_owned();
        if let Some(floor) = floor {
            text.push_str(&format!(
                ", {:.1} times the least that can poll two futures",
                figure.median / floor
            ));
        }
        if let Some(futex) = futex {
            text.push_str(&format!(
                "; the cheapest handover between threads takes {:.0} times as long",
                futex / figure.median
            ));
        }
        figure.argument = Some(text);
    }
    for (row, how) in [
        (runtimes::GOROUTINES, "the runtime's own scheduler"),
        (runtimes::VIRTUAL, "the runtime's own scheduler, on threads that may have to be woken"),
        (runtimes::PROMISES, "a queue of the event loop"),
        (
            runtimes::MESSAGES,
            "between two threads, by the event loop of each: a wake-up by the kernel, and a value copied",
        ),
    ] {
        for place in [Placement::One, Placement::Free] {
            let Some(figure) = find_figure(figures, row, place.name()) else { continue };
            let beside = futex.map(|futex| match figure.median / futex {
                times @ 1.0.. => format!("; {times:.1} times a futex between threads on one processor"),
                part => format!(
                    "; a futex between threads on one processor takes {:.1} times as long",
                    part.recip()
                ),
            });
            figure.argument = Some(format!("{how}{}", beside.unwrap_or_default()));
        }
    }
}

fn summary(figures: &[Figure]) -> Vec<String> {
    let mut notes = Vec::new();
    let pipe = row(WakeMechanism::Pipe, TaskKind::Threads);
    let one = median(figures, &pipe, Placement::One.name());
    if let (Some(one), Some(calls)) =
        (one, median(figures, WakeMechanism::Pipe.calls_alone_row(), Placement::One.name()))
    {
        notes.push(format!(
            "A context switch with the wake-up before it costs {} here: a handover through a pipe, {}, without its two \
             system calls, {}.",
            clamped_nanos(one - calls),
            clamped_nanos(one),
            clamped_nanos(calls)
        ));
    }
    let free = figures.iter().find(|figure| figure.row == pipe && figure.column == Placement::Free.name());
    if let (Some(free), Some(one)) = (free, one) {
        let two = median(figures, &pipe, Placement::Two.name());
        notes.push(format!(
            "Unpinned, the same handover takes {}: the two threads were apart in {} of the looks{}. Whoever keeps the other \
             processors busy makes this figure better, not worse, for a processor that never idles need not be \
             woken: do not compare unpinned figures of a quiet and a busy machine.",
            clamped_nanos(free.median),
            percent(free.apart.unwrap_or_default()),
            two.map_or_else(String::new, |two| format!(" (on two processors {}, on one {})", clamped_nanos(two), clamped_nanos(one)))
        ));
    }
    let none =
        figures.iter().filter(|figure| figure.caveats.iter().any(|caveat| caveat.doubt == NOT_ONE)).count();
    if none > 0 {
        notes.push(format!(
            "{none} of the figures are not one context switch each, and say how many took place."
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FigureUnit;

    fn figure(row: &str, place: Placement, median: f64, switches: f64, apart: f64) -> Figure {
        let names = ("switch", row, place.name());
        let figure = Figure::from_blocks(names, FigureUnit::Nanos, vec![median], 1).expect("it is a number");
        Figure { switches: Some(switches), apart: Some(apart), ..figure }
    }

    #[test]
    fn a_handover_is_split_and_what_is_none_says_so() {
        let mut figures = [
            figure("pipe, threads", Placement::One, 2650.0, 1.0, 0.0),
            figure("pipe, threads", Placement::Free, 20_650.0, 1.01, 0.97),
            figure("yield, threads", Placement::Two, 120.0, 0.001, 1.0),
            figure("condition variable, threads", Placement::One, 4390.0, 1.74, 0.0),
            figure("write and read of one pipe, nobody else", Placement::One, 740.0, 0.0, 0.0),
        ];
        let notes = explain(&mut figures);
        let [pipe, free, yields, condition, _] = &figures;
        assert_eq!(pipe.argument.as_deref(), Some("2 system calls 740 ns + wake-up and switch 1.91 µs"));
        let split = [Summand::new("2 system calls", 740.0), Summand::new("wake-up and switch", 1910.0)];
        assert_eq!(pipe.parts, split);
        let woken = [
            Summand::new("as on one processor", 2650.0),
            Summand::new("an idle processor is woken", 18_000.0),
        ];
        assert_eq!(free.parts, woken);
        assert!(yields.parts.is_empty() && condition.parts.is_empty(), "neither is a sum");
        assert!(
            free.argument.as_ref().is_some_and(|text| text.contains("97 %") && text.contains("18 µs more")),
            "{free:?}"
        );
        assert!(pipe.caveats.is_empty() && free.caveats.is_empty());
        for (not, text) in [(yields, "0.00"), (condition, "1.74")] {
            let [caveat] = not.caveats.as_slice() else { panic!("{not:?}") };
            assert!(caveat.doubt == NOT_ONE && caveat.to_string().starts_with(text), "{caveat:?}");
        }
        assert!(notes[0].contains("1.91 µs") && notes[1].contains("better, not worse"), "{notes:?}");
    }

    #[test]
    fn nothing_measured_is_nothing_explained() {
        let notes = explain(&mut []);
        assert!(notes.len() <= 1, "{notes:?}");
    }
}
