//! A run's result as one SVG, for a ticket, a chat, an article.

mod bars;
mod labels;
mod panel;
mod plot_area;
mod rows;
mod time_chart;

use crate::Text;
use crate::document::{Chart, Document};
use crate::wording::{escape_xml, shortened};
use panel::{height, panel};
use plot_area::Rect;
use std::borrow::Cow;
use std::fmt::Write;

/// Width in SVG units; viewers may scale it.
const WIDTH: f64 = 960.0;
/// Height of panels side by side.
const PANEL_HEIGHT: f64 = 336.0;
/// Height above and below the panels.
const TOP_HEIGHT: f64 = 92.0;
const BOTTOM_HEIGHT: f64 = 22.0;
/// The first panel's share of the width, of two; and of two over time.
const FIRST_SHARE: f64 = 0.64;
const HALF_SHARE: f64 = 0.5;
/// Maximum characters in the first line, and in those below.
const MAX_CHARS: (usize, usize) = (90, 130);
/// Baselines of the lines at the top.
const BASELINES: [f64; 3] = [30.0, 52.0, 74.0];

/// Both colour schemes: the viewer chooses.
const STYLE: &str = "\
    text{font:12px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#15191d}\
    .title{font-weight:600;font-size:17px}.said{font-size:13px}.faint,.tick{fill:#55606b}.tick{font-size:11px}\
    .ground{fill:#fff}.grid{stroke:#e8ebee}.mark{fill:#fff;stroke:#0072b2;stroke-width:1.5}\
    .good{fill:#006b4e;stroke:#006b4e}.bad{fill:none;stroke:#b03a00;stroke-width:2}.warn{fill:#fff;stroke:#855000;stroke-width:1.5}\
    .plain{fill:#fff;stroke:#6b747d;stroke-width:1.5}.limit{fill:#c98a00;opacity:.3}.beyond{fill:#b03a00;opacity:.1}\
    .well{fill:#006b4e;opacity:.1}.little{fill:#6b747d;opacity:.14}.start{fill:#6b747d;opacity:.75}.strong{font-weight:600}.bar{stroke-width:3}\
    .measured{fill:#0072b2;opacity:.6}.whisker{fill:none;stroke:#15191d;stroke-width:1.5}.interval{opacity:.5}\
    .course{fill:none;stroke-width:1.5}.offered{stroke:#6b747d;stroke-dasharray:5 4}.achieved{stroke:#0072b2}.done{stroke:#00835f}.half{stroke:#2e8bc0}\
    .ninety{stroke:#0072b2;stroke-dasharray:8 3}.ninety-nine{stroke:#b4588f;stroke-width:2.25}.largest{stroke:#6b747d;stroke-dasharray:2 2}\
    .waiting{stroke:#b07500;stroke-dasharray:10 3 2 3}.still{fill:#b03a00}\
    .line{fill:none;stroke:#6b747d;stroke-width:1.5;stroke-dasharray:5 4}\
    .bound{stroke-dasharray:6 3}text.good{fill:#006b4e;stroke:none}text.bad{fill:#b03a00;stroke:none}text.warn{fill:#855000;stroke:none}\
    text.named{paint-order:stroke;stroke:#fff;stroke-width:3;stroke-opacity:.8;stroke-linejoin:round}\
    @media(prefers-color-scheme:dark){text{fill:#e6e9ec}.faint,.tick{fill:#9da7b1}.ground,.warn,.plain,.mark{fill:#171b1f}\
    .grid{stroke:#252b31}.mark{stroke:#56a8e0}.good,text.good{fill:#3fc79a;stroke:#3fc79a}.bad{stroke:#ff8f57}text.bad{fill:#ff8f57}\
    .warn{stroke:#e9b44c}text.warn{fill:#e9b44c}text.good,text.bad,text.warn{stroke:none}text.named{stroke:#171b1f}.limit{fill:#e9b44c}.well{fill:#3fc79a}.beyond{fill:#ff8f57}\
    .start,.little{fill:#98a2ac}.measured{fill:#56a8e0}.whisker{stroke:#e6e9ec}.line,.offered,.largest{stroke:#98a2ac}\
    .achieved,.ninety{stroke:#56a8e0}.done{stroke:#2fbf92}.half{stroke:#8fd0f7}.ninety-nine{stroke:#dd94bf}.waiting{stroke:#e69f00}.still{fill:#ff8f57}}";

/// The charts under a page's verdict; `None` without any.
pub fn svg(document: &Document) -> Option<String> {
    let Document { front, timeline, .. } = document;
    let drawn = |chart| {
        if time_chart::is_over_time(chart) {
            Cow::Owned(time_chart::drawn(chart, timeline))
        } else {
            Cow::Borrowed(chart)
        }
    };
    let pictures: Vec<Cow<'_, Chart>> = front.pictures.iter().map(drawn).collect();
    let frames = frames(&pictures);
    let height = frames.last()?.bottom + BOTTOM_HEIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n"
    );
    let verdict: Vec<String> = front.verdict.iter().map(Text::to_plain).collect();
    let head = &front.head;
    let goal = if head.goal.is_empty() { String::new() } else { format!(" · goal {}", head.goal) };
    let about = format!("torment {} · {}{goal}", head.command, head.target);
    let _ =
        writeln!(out, "<title>{}</title>", escape_xml(&format!("{}: {}", head.target, verdict.join(" "))));
    let _ = writeln!(
        out,
        "<style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    let mut line = |class: &str, y: f64, text: &str| {
        let letters = if class == "title" { MAX_CHARS.0 } else { MAX_CHARS.1 };
        let _ = writeln!(
            out,
            "<text class=\"{class}\" x=\"20\" y=\"{y}\">{}</text>",
            escape_xml(&shorter(text, letters))
        );
    };
    let first = verdict.first().map_or("nothing is known yet", String::as_str);
    let second = verdict.get(1).map(|second| ("said", second.as_str()));
    let top = [("title", first)].into_iter().chain(second).chain([("faint", about.as_str())]);
    top.zip(BASELINES).for_each(|((class, text), y)| line(class, y, text));
    line("faint", height - 8.0, &format!("run {} · torment {} · {}", head.id, head.version, head.machine));
    for (chart, frame) in pictures.iter().zip(frames) {
        panel(&mut out, chart, frame);
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// The charts' frames: rows and bars one below the other, others in pairs.
fn frames(pictures: &[Cow<'_, Chart>]) -> Vec<Rect> {
    let mut frames: Vec<Rect> = Vec::new();
    let mut more = pictures;
    while let Some((first, rest)) = more.split_first() {
        let top = frames.last().map_or(TOP_HEIGHT, |frame| frame.bottom);
        let stands_alone = |chart: &Chart| !chart.rows.is_empty();
        let whole = |height: f64| Rect { left: 0.0, right: WIDTH, top, bottom: top + height };
        more = rest;
        match rest.split_first() {
            _ if stands_alone(first) => frames.push(whole(height(first))),
            Some((second, others)) if !stands_alone(second) => {
                let split = WIDTH * if time_chart::is_over_time(second) { HALF_SHARE } else { FIRST_SHARE };
                let beside = whole(PANEL_HEIGHT);
                frames.extend([Rect { right: split, ..beside }, Rect { left: split, ..beside }]);
                more = others;
            }
            _ => frames.push(whole(PANEL_HEIGHT)),
        }
    }
    frames
}

/// Drops what follows a semicolon if too long: half a thought is a riddle.
fn shorter(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let room: String = text.chars().take(letters).collect();
    match room.rsplit_once("; ") {
        Some((whole, _)) if whole.matches('(').count() > whole.matches(')').count() => format!("{whole})"),
        Some((whole, _)) => whole.to_owned(),
        None => shortened(text, letters),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_with_a_whole_clause() {
        for (text, expected) in [
            ("holds 10/s (between 9 and 11)", "holds 10/s (between 9 and 11)"),
            ("holds 10/s (between 9 and 11; 3 trials, none bad)", "holds 10/s (between 9 and 11)"),
            ("first; second; third and more of it", "first; second"),
            ("no clause that could be left out of it", "no clause that could be left …"),
        ] {
            assert_eq!(shorter(text, 30), expected, "{text}");
        }
    }
}
