use crate::figure_tables::part_lines;
use crate::summary::{limit_table, ramp_table};
use crate::wording::distinct;
use crate::{ReportKind, RunView, Text, Tone};

/// The machine's figures so far, as tables of this width; for threads their number over time, and every limit.
pub fn figure_lines(view: &RunView, width: usize) -> Vec<Text> {
    if view.kind() == ReportKind::Tasks {
        let ramp = if view.ramp.is_empty() { Vec::new() } else { ramp_table(view).lines() };
        let limits =
            if view.system_limits.is_empty() { Vec::new() } else { limit_table(&view.system_limits).lines() };
        let apart = (!ramp.is_empty() && !limits.is_empty()).then(Text::empty);
        return ramp.into_iter().chain(apart).chain(limits).collect();
    }
    let mut lines = Vec::new();
    for name in distinct(view.figures.iter().map(|figure| figure.table.as_str())) {
        lines.push(Text::plain("  ").with_span(Tone::Strong, name));
        lines.extend(part_lines(name, &view.figures, width));
    }
    lines
}
