use super::*;
use crate::document::{AxisUnit, ChartForm, ChartPoint};

/// A trial: rate, median and 99th percentile in milliseconds, and result.
type TrialMark = (f64, f64, f64, Tone);

fn chart(trials: &[TrialMark]) -> Chart {
    let of = |quantile: fn(&TrialMark) -> f64| {
        let point = move |trial: &TrialMark| ChartPoint {
            x: trial.0,
            y: quantile(trial) / 1e3,
            tone: trial.3,
            ..ChartPoint::default()
        };
        trials.iter().map(point).collect::<Vec<_>>()
    };
    let (x, y) = (("rate", AxisUnit::PerSecond), ("response time", AxisUnit::Seconds));
    Chart::of("limit", "where it breaks", ChartForm::Points, x, y)
        .log_y()
        .points("p50", SeriesRole::Half, of(|trial| trial.1))
        .points("p99", SeriesRole::NinetyNine, of(|trial| trial.2))
}

fn limited(chart: Chart, lower: f64, upper: Option<f64>, holds: f64) -> Chart {
    let chart = match upper {
        Some(_) => chart.band("", Some(lower), upper, Tone::Strong).band("overload", upper, None, Tone::Bad),
        None => chart.band("not known", Some(lower), None, Tone::Faint),
    };
    let (words, tone) = if upper.is_some() { ("holds", Tone::Good) } else { ("at least", Tone::Plain) };
    chart.vertical_line(words, Some(holds), tone)
}

fn drawn(chart: &Chart, glyphs: Glyphs, width: usize) -> Vec<String> {
    lines(chart, "requests/s", glyphs, width).iter().map(ToString::to_string).collect()
}

const BROKEN: [TrialMark; 5] = [
    (100.0, 1.0, 2.0, Tone::Good),
    (200.0, 1.0, 2.0, Tone::Good),
    (300.0, 2.0, 8.0, Tone::Good),
    (360.0, 20.0, 60.0, Tone::Bad),
    (500.0, 50.0, 128.0, Tone::Bad),
];

#[test]
fn the_limit_is_as_wide_as_its_doubt() {
    let chart = limited(chart(&BROKEN), 300.0, Some(340.0), 320.0);
    let expected = [
        "",
        "  where it breaks: response time, p99 ● good ✖ bad, p50 ○",
        "  128 ms │                         ▒▒▒▒▒░░░░░░░░░░░░░░░░░░░✖",
        "   50 ms │                         ▒▒▒▒▒░░✖░░░░░░░░░░░░░░░░○",
        "         │                         ▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░",
        "   20 ms │                         ▒▒▒▒▒░░○░░░░░░░░░░░░░░░░░",
        "   10 ms │                         ●▒▒▒▒ overload ░░░░░░░░░░",
        "    5 ms │                         ▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░",
        "    2 ms │●           ●            ○▒▒▒▒░░░░░░░░░░░░░░░░░░░░",
        "    1 ms │○           ○            ▒▒▒▒▒░░░░░░░░░░░░░░░░░░░░",
        "         └─────────────────────────╞═▲═╡────────────────────",
        "          100                    holds 320               500",
    ];
    assert_eq!(drawn(&chart, Glyphs::Blocks, 60), expected);
    let wide = drawn(&chart, Glyphs::Blocks, 100);
    assert!(wide[11].contains("  holds 320 requests/s, between 300 and 340  "), "{wide:#?}");
    assert!(wide.iter().all(|line| line.chars().count() <= 100) && wide.len() == 12, "{wide:#?}");
}

#[test]
fn ascii_has_a_mark_for_each_state() {
    let trials = [
        (100.0, 1.0, 2.0, Tone::Good),
        (200.0, 1.0, 4.0, Tone::Good),
        (250.0, 1.0, 16.0, Tone::Warn),
        (300.0, 8.0, 128.0, Tone::Bad),
    ];
    let chart = limited(chart(&trials), 220.0, Some(280.0), 220.0).bound("goal", Some(0.05), Tone::Bad);
    let expected = [
        "",
        "  response time, p99 o good x bad ? void, p50 .",
        "  128 ms |                       |||||||||||||:::x",
        "   50 ms |- goal ---------------------------------",
        "         |                       |||||||||||||::::",
        "   20 ms |                       ||||||?||||||::::",
        "   10 ms |                       |||||||||||||:::.",
        "    5 ms |                    o  |||||||||||||::::",
        "    2 ms |o                      |||||||||||||::::",
        "    1 ms |.                   .  ||||||.||||||::::",
        "         +-----------------------^===========]----",
        "          100                holds 220         300",
    ];
    let drawn = drawn(&chart, Glyphs::Plain, 50);
    assert_eq!(drawn, expected);
    assert!(drawn.iter().all(|line| line.is_ascii()), "{drawn:#?}");
}

#[test]
fn a_limit_that_was_not_reached_is_at_least() {
    let trials = [100.0, 200.0, 300.0].map(|rate| (rate, 1.0, 2.0, Tone::Good));
    let expected = [
        "",
        "  response time, p99 ● good, p50 ○",
        "  2 ms │●                    ●                   ●",
        "       │",
        "       │",
        "       │",
        "       │",
        "       │",
        "       │",
        "  1 ms │○                    ○                   ○",
        "       └─────────────────────────────────────────▲",
        "        100           at least 300 requests/s  300",
    ];
    assert_eq!(drawn(&limited(chart(&trials), 300.0, None, 300.0), Glyphs::Blocks, 50), expected);
    let fails = chart(&trials).band("", None, Some(100.0), Tone::Strong);
    let below = drawn(&fails, Glyphs::Blocks, 80).pop().expect("twelve lines");
    assert!(below.trim_start().starts_with("100  fails at 100 requests/s  "), "{below}");
}

#[test]
fn where_there_is_no_room_or_no_curve_nothing_is_drawn() {
    assert!(drawn(&chart(&BROKEN), Glyphs::Blocks, 49).is_empty());
    assert!(drawn(&chart(&BROKEN[..2]), Glyphs::Blocks, 80).is_empty());
    assert_eq!(drawn(&chart(&BROKEN), Glyphs::Blocks, 50).len(), 12, "no limit is known yet");
    let alike = [(100.0, 1.0, 1.0, Tone::Good); 3];
    assert_eq!(drawn(&chart(&alike), Glyphs::Plain, 50).len(), 12, "all in one place");
    assert!(sketch(&RunView::default(), Glyphs::Blocks, None).is_empty());
}

/// Among marks the label beyond the limit read `fa●ls○too○of✖en`.
#[test]
fn a_name_has_no_marks_in_it() {
    let among =
        [(380.0, 10.0, 10.0, Tone::Bad), (420.0, 5.0, 10.0, Tone::Bad), (440.0, 5.0, 10.0, Tone::Bad)];
    let broken = [&BROKEN[..], &among].concat();
    let lines = drawn(&limited(chart(&broken), 300.0, Some(340.0), 320.0), Glyphs::Blocks, 60);
    let named: Vec<usize> = (0..lines.len()).filter(|line| lines[*line].contains(" overload ")).collect();
    assert_eq!(named.len(), 1, "{lines:#?}");
    assert!(!lines[named[0]].contains(['✖', '○']), "{lines:#?}");
}
