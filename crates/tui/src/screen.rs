//! One frame: what to draw for which kind of run, at any size.

use crate::frame_context::FrameContext;
use crate::{Palette, experiment, load, machine};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Text;
use view::{LiveRun, ReportKind};

/// Draws the run. `now_unix_ms` is the time, `stopping` whether a stop was requested.
pub fn draw(frame: &mut Frame, live_run: &LiveRun, now_unix_ms: u64, stopping: bool, palette: Palette) {
    let [above, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
    let view = &live_run.page.run;
    let context = FrameContext { view, live_run, palette, width: above.width, now_unix_ms };
    match view.kind() {
        ReportKind::Experiment => frame.render_widget(Text::from(experiment::lines(&context)), above),
        ReportKind::Probe | ReportKind::Profile | ReportKind::Tasks | ReportKind::WorkingSet => {
            frame.render_widget(Text::from(machine::lines(&context, above.height)), above);
        }
        ReportKind::Search | ReportKind::Load => load::draw(frame, above, &context),
    }
    frame.render_widget(context.footer(stopping), foot);
}
