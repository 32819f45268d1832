//! One frame: what is drawn for which kind of run, at any size.

use crate::pen::Pen;
use crate::{Palette, attempt, load, machine};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Text;
use view::{Kind, Ongoing};

/// Draws the run into the frame. `now_unix_ms` is the time, `stopping` whether a stop was asked for.
pub fn draw(frame: &mut Frame, ongoing: &Ongoing, now_unix_ms: u64, stopping: bool, palette: Palette) {
    let [above, foot] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
    let view = &ongoing.pages.run;
    let pen = Pen { view, ongoing, palette, width: above.width, now_unix_ms };
    match view.kind() {
        Kind::Experiment => frame.render_widget(Text::from(attempt::lines(&pen)), above),
        Kind::Sheet | Kind::Profile | Kind::Tasks | Kind::WorkingSet => {
            frame.render_widget(Text::from(machine::lines(&pen, above.height)), above);
        }
        Kind::Search | Kind::Load => load::draw(frame, above, &pen),
    }
    frame.render_widget(pen.foot(stopping), foot);
}
