use crate::{RunView, Text, Tone};
use units::Bytes;

/// The output of programs that the plan started, each under its name.
pub fn log_lines(view: &RunView) -> Vec<Text> {
    if view.logs.is_empty() {
        return vec![Text::plain("  no log is kept: the plan started no program, or none has ended yet")];
    }
    let mut lines = Vec::new();
    for log in &view.logs {
        if !lines.is_empty() {
            lines.push(Text::empty());
        }
        lines.push(Text::plain("  ").with_span(Tone::Strong, &log.program));
        lines.extend(log.text.lines().map(|line| Text::plain(format!("    {line}"))));
        if log.text.is_empty() {
            lines.push(Text::new(Tone::Faint, "    it has written nothing"));
        }
        if log.left_out > 0 {
            let text = format!("    {} between its beginning and its end are left out", Bytes(log.left_out));
            lines.push(Text::new(Tone::Faint, text));
        }
    }
    lines
}
