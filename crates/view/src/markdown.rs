//! A run as Markdown, for a ticket, a chat, an article: all texts and tables of its page. Of its charts only the result, as an image file
//! beside it.

use crate::document::{
    Occupancy, PageFront, PageHeader, Section, StationBox, Text, TextSpan, TextTable, Tone,
};
use crate::wording::{collapse_blanks, xml_entity};
use units::Moment;

/// Id of the section on how the run was made.
const RUN_SECTION: &str = "run";

/// Renders a document's texts and tables; `image` is the address of the image made by [`crate::svg()`].
pub fn markdown(front: &PageFront, image: Option<&str>) -> String {
    let PageFront { head, verdict, chain, doubts: caveats, sections, .. } = front;
    let mut blocks = vec![format!("# {}", escape(&head.title()))];
    blocks.extend(verdict.iter().map(paragraph));
    blocks.extend(request_path(chain));
    if let Some(image) = image {
        let caption = front.pictures.iter().map(|chart| match chart.note.as_str() {
            "" => chart.title.clone(),
            note => format!("{}: {note}", chart.title),
        });
        let caption: Vec<String> = caption.collect();
        blocks.push(format!("![{}]({})", escape(&caption.join(". ")), address(image)));
    }
    if !caveats.is_empty() {
        let caveats: Vec<String> =
            caveats.iter().map(|caveat| format!("- {}", escape(&caveat.text))).collect();
        blocks.extend(["## Caveats".to_owned(), caveats.join("\n")]);
    }
    for section in sections {
        blocks.extend(if section.id == RUN_SECTION {
            run_section(head, section)
        } else {
            section_markdown(section)
        });
    }
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n\n") + "\n"
}

/// The request path, and what was observed on it.
fn request_path(chain: &[StationBox]) -> Vec<String> {
    let name = |station: &StationBox| match station.tone {
        Tone::Bad => format!("{} (gave first)", strong(&station.name)),
        _ => escape(&station.name),
    };
    let seen = chain.iter().flat_map(|station| {
        station.facts.iter().map(move |fact| format!("- {}: {}", escape(&station.name), inline(fact)))
    });
    let seen: Vec<String> = seen.collect();
    let names: Vec<String> = chain.iter().map(name).collect();
    let way = if names.is_empty() { String::new() } else { "Request path: ".to_owned() };
    vec![way + &names.join(" → "), seen.join("\n"), places(chain)]
}

/// Each station's occupancy; empty if none is known.
fn places(chain: &[StationBox]) -> String {
    let cell = |full: Option<&Occupancy>| {
        let full = full.cloned().unwrap_or_default();
        let stay = full.stay.map(|stay| format!("{stay} each"));
        let waiting = full.waiting.map(|waiting| format!("{waiting} waiting"));
        [full.in_use, stay, waiting].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let row = |station: &StationBox| {
        let known = station.well.is_some() || station.degraded.is_some();
        let sides = [station.well.as_ref(), station.degraded.as_ref()].map(cell);
        known.then(|| std::iter::once(station.name.clone()).chain(sides).collect())
    };
    let rows: Vec<Vec<String>> = chain.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    table(&["place", "well", "degraded"].map(str::to_owned), |_| false, rows.into_iter())
        .trim_end()
        .to_owned()
}

/// A section's texts and tables; empty if it only has charts.
fn section_markdown(section: &Section) -> Vec<String> {
    let tables = section.tables.iter().flat_map(|found| {
        let title =
            if found.title.is_empty() { String::new() } else { format!("### {}", escape(&found.title)) };
        [title, of_document(found)]
    });
    let blocks: Vec<String> = paragraphs(&section.texts).into_iter().chain(tables).collect();
    match blocks.is_empty() {
        true => blocks,
        false => std::iter::once(format!("## {}", escape(&section.title))).chain(blocks).collect(),
    }
}

/// Where and how the run was made: the page's header, then the section's texts, and the plan verbatim.
fn run_section(head: &PageHeader, section: &Section) -> Vec<String> {
    let began = match head.started_unix_ms {
        0 => String::new(),
        ms => {
            let moment = Moment::from_unix_ms(ms);
            let ((year, month, day), (hour, minute, second)) = (moment.date(), moment.time());
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
        }
    };
    let facts = [("goal", &head.goal), ("machine", &head.machine), ("began", &began), ("run", &head.id)];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    // The plan's lines follow their heading, the only one.
    let is_heading = |text: &Text| text.pieces.len() == 1 && text.pieces[0].tone == Tone::Strong;
    let heading = section.texts.iter().position(is_heading).unwrap_or(section.texts.len());
    let (texts, plan) = section.texts.split_at(heading);
    let facts = facts.map(|(name, value)| Text::labelled(name, value));
    let list: Vec<String> =
        facts.chain(texts.iter().cloned()).map(|text| format!("- {}", inline(&text))).collect();
    let mut blocks = vec!["## How it was measured".to_owned(), list.join("\n")];
    if let Some((heading, lines)) = plan.split_first() {
        let lines: Vec<String> = lines.iter().map(|line| format!("    {line}")).collect();
        blocks.extend([paragraph(heading), lines.join("\n")]);
    }
    blocks
}

/// Paragraphs, and lists for indented lines.
fn paragraphs(texts: &[Text]) -> Vec<String> {
    let pieces = texts.chunk_by(|one, next| one.depth > 0 && next.depth > 0);
    let item = |text: &Text| {
        let indent = "  ".repeat(usize::from(text.depth).saturating_sub(1));
        format!("{indent}- {}", paragraph(text))
    };
    let block = |texts: &[Text]| match texts {
        [text] if text.depth == 0 => paragraph(text),
        texts => texts.iter().map(item).collect::<Vec<_>>().join("\n"),
    };
    pieces.map(block).collect()
}

/// A text that is no list item.
fn paragraph(text: &Text) -> String {
    let text = inline(text);
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let mark = rest.split(' ').next().unwrap_or_default();
    match (digits, mark) {
        (0, "-" | "+") | (1.., "." | ")") => format!("{number}\\{rest}"),
        _ => text,
    }
}

/// Emphasizes strong and bad spans.
fn inline(text: &Text) -> String {
    let piece = |piece: &TextSpan| match piece.tone {
        Tone::Plain | Tone::Faint => escape(&piece.text),
        Tone::Strong | Tone::Good | Tone::Bad | Tone::Warn => strong(&piece.text),
    };
    collapse_blanks(&text.pieces.iter().map(piece).collect::<String>())
}

/// Bold from the first letter or digit to the last: markers next to other characters are not always recognized.
fn strong(text: &str) -> String {
    let (Some(from), Some(last)) = (text.find(char::is_alphanumeric), text.rfind(char::is_alphanumeric))
    else {
        return escape(text);
    };
    let to = last + text[last..].chars().next().map_or(0, char::len_utf8);
    format!("{}**{}**{}", escape(&text[..from]), escape(&text[from..to]), escape(&text[to..]))
}

fn of_document(found: &TextTable) -> String {
    let is_figure = |column: usize| column > 0 && !found.text.contains(&column);
    let rows =
        found.rows.iter().map(|row| row.iter().map(|piece| collapse_blanks(&piece.text)).collect::<Vec<_>>());
    table(&found.head, is_figure, rows).trim_end().to_owned()
}

/// A GitHub Markdown table; figures are right-aligned.
pub(crate) fn table(
    head: &[String],
    is_figure: impl Fn(usize) -> bool,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let escaped = |cells: &[String]| line(cells.iter().map(|cell| escape(cell)).collect());
    let rule = |column: usize| if is_figure(column) { "---:".to_owned() } else { "---".to_owned() };
    let rule = line((0..head.len()).map(rule).collect());
    [escaped(head), rule].into_iter().chain(rows.map(|row| escaped(&row))).collect()
}

/// Escapes Markdown and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' | '<' | '>' => out.push_str(xml_entity(letter)),
            '\n' | '\r' | '\t' => out.push(' '),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '$' => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// The relative URL of a file, whatever its name.
fn address(name: &str) -> String {
    let letter = |byte: u8| match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{AxisUnit, Chart, ChartForm, PageCaveat};

    fn front() -> PageFront {
        let picture = Chart::of(
            "limit",
            "where it breaks",
            ChartForm::Points,
            ("", AxisUnit::Count),
            ("", AxisUnit::Count),
        );
        let mut steps = TextTable::with_text_last(&["trial", "p99", "most wait"]).titled("step by step");
        steps.push_row(
            ["4".to_owned(), " 2  ms".to_owned(), "a|b".to_owned()].map(|text| (text, Tone::Plain)),
        );
        let station = |name: &str, tone| StationBox { name: name.to_owned(), tone, ..StationBox::default() };
        let full = StationBox {
            facts: vec![Text::empty_at_depth(1).with_plain("10 in use   (3 at 9/s)")],
            well: Some(Occupancy { in_use: Some("3 of 10".to_owned()), ..Occupancy::default() }),
            degraded: Some(Occupancy {
                in_use: Some("10 of 10".to_owned()),
                stay: Some("52 ms".to_owned()),
                waiting: Some("190".to_owned()),
                ..Occupancy::default()
            }),
            ..station("a pool", Tone::Bad)
        };
        let evidence = Section::named("evidence", "What gave first").texts([
            Text::new(Tone::Strong, "All wait for a pool."),
            Text::empty_at_depth(1).with_plain("- one"),
            Text::empty_at_depth(2).with_plain("seen 1_0"),
            Text::labelled("confidence", "").with_span(Tone::Good, "high"),
        ]);
        let drawn = Section { charts: vec![picture.clone()], ..Section::named("response", "Response time") };
        let run = Section::named("run", "The run").texts([
            Text::labelled("command", "torment find"),
            Text::new(Tone::Strong, "the plan as understood"),
            Text::plain("[target]"),
            Text::plain("url = \"http://h/<a>\""),
        ]);
        PageFront {
            head: PageHeader {
                id: "k3f".to_owned(),
                command: "find".to_owned(),
                target: "http://h/<a>".to_owned(),
                started_unix_ms: 1_795_191_302_000,
                machine: "hill: 2 processors".to_owned(),
                ..PageHeader::default()
            },
            verdict: vec![Text::new(Tone::Good, "holds 9/s").with_span(Tone::Bad, ": *not* more")],
            chain: vec![station("requests", Tone::Plain), full],
            pictures: vec![picture.note("each mark is a trial")],
            doubts: vec![PageCaveat { text: "[1] processor".to_owned(), section: None }],
            sections: vec![evidence.table(steps), drawn, run],
            ..PageFront::default()
        }
    }

    #[test]
    fn all_that_is_said_is_there_and_nothing_of_it_is_markup() {
        let expected = r#"# torment find http://h/&lt;a&gt;

**holds 9/s**: \***not\* more**

Request path: requests → **a pool** (gave first)

- a pool: 10 in use (3 at 9/s)

| place | well | degraded |
| --- | --- | --- |
| a pool | 3 of 10 | 10 of 10, 52 ms each, 190 waiting |

![where it breaks: each mark is a trial](my%20run-limit.svg)

## Caveats

- \[1\] processor

## What gave first

**All wait for a pool**.

- \- one
  - seen 1\_0

confidence: **high**

### step by step

| trial | p99 | most wait |
| --- | ---: | --- |
| 4 | 2 ms | a\|b |

## How it was measured

- machine: hill: 2 processors
- began: 2026-11-20 16:15:02 UTC
- run: k3f
- command: torment find

**the plan as understood**

    [target]
    url = "http://h/<a>"
"#;
        assert_eq!(markdown(&front(), Some("my run-limit.svg")), expected);
        assert!(!markdown(&front(), None).contains("!["), "an image that is not there is not shown");
        assert_eq!(markdown(&PageFront::default(), None), "# torment\n");
    }

    #[test]
    fn a_paragraph_begins_no_list() {
        for (text, expected) in [
            ("- 3 %", "\\- 3 %"),
            ("+", "\\+"),
            ("12. of", "12\\. of"),
            ("7) x", "7\\) x"),
            ("10 permits", "10 permits"),
            ("1.5 ms", "1.5 ms"),
            ("-3 %", "-3 %"),
            ("–", "–"),
        ] {
            assert_eq!(paragraph(&Text::plain(text)), expected);
        }
        assert_eq!(paragraph(&Text::new(Tone::Warn, "…")), "…", "nothing in it can be bold");
    }
}
