//! The plan, the machine, and the programs' output.

use crate::document::{Section, Text};
use crate::{RunView, Tone};
use units::Bytes;

pub(super) fn section(run: &RunView) -> Section {
    let Some(started) = &run.started else { return Section::default() };
    let mut texts = vec![
        Text::labelled("command", format!("torment {}", started.command)),
        Text::labelled("torment", format!("{}, method {}", started.version, started.method)),
    ];
    let label = &started.label;
    texts.extend(label.name.as_ref().map(|name| Text::labelled("name", name.clone())));
    texts.extend((!label.tags.is_empty()).then(|| Text::labelled("tags", label.tags.join(", "))));
    texts.extend(label.commit.as_ref().map(|commit| Text::labelled("commit", commit.clone())));
    texts.extend(started.part_of.as_ref().map(|whole| Text::labelled("a measurement of", whole.0.clone())));
    for log in &run.logs {
        let left_out = match log.left_out {
            0 => String::new(),
            bytes => format!(", {} left out", Bytes(bytes)),
        };
        let text = format!("{}, {} kept{left_out}", log.program, Bytes(log.text.len() as u64));
        texts.push(Text::labelled("log", text));
    }
    // One text per line: front ends may recognize them by their heading, and set them apart.
    let plan = started.plan.trim_end();
    if !plan.is_empty() {
        texts.push(Text::new(Tone::Strong, "the plan as understood"));
        texts.extend(plan.lines().filter(|line| !line.is_empty()).map(Text::plain));
    }
    Section::named("run", "The run").texts(texts)
}
