//! The target's current state: its processors, its threads, and what its database's sessions wait for.

use crate::frame_context::{FrameContext, WIDE_WIDTH, cut};
use ratatui::text::{Line, Span};
use view::Tone;
use view::page::{StackPart, ThreadGroupStatus, TreeStatus};

/// Thread groups shown per process tree.
const MAX_GROUPS: usize = 6;
/// Maximum length of bars.
const MAX_BAR_WIDTH: usize = 32;
/// From this share of what is allowed on, usage is nearly full.
const NEARLY_FULL: f64 = 0.9;

/// Who is watched.
pub(crate) struct TargetPanel {
    trees: Vec<TreeStatus>,
    sessions: Vec<StackPart>,
}

impl TargetPanel {
    pub fn of(context: &FrameContext<'_>) -> Self {
        Self { trees: context.live_run.page.trees(), sessions: context.live_run.page.sessions() }
    }

    /// Maximum rows it can use.
    pub fn max_rows(&self) -> u16 {
        let of = |tree: &TreeStatus| 1 + tree.groups.len().min(MAX_GROUPS);
        let all = self.trees.iter().map(of).sum::<usize>() + usize::from(!self.sessions.is_empty());
        all as u16
    }

    /// As many lines as fit: each tree's head, the sessions, then the first tree's groups.
    pub fn lines(&self, context: &FrameContext<'_>, room: u16) -> Vec<Line<'static>> {
        let room = usize::from(room);
        let Some(service) = self.trees.first().filter(|_| room > 0) else { return Vec::new() };
        if room == 1 {
            return vec![head(context, service, &self.summary_parts())];
        }
        let sessions = (!self.sessions.is_empty()).then(|| sessions(context, &self.sessions));
        let mut left = room.saturating_sub(1 + sessions.iter().len());
        let mut lines = Vec::new();
        for (index, tree) in self.trees.iter().enumerate() {
            if index > 0 {
                let Some(rest) = left.checked_sub(1) else { break };
                left = rest;
            }
            // The last rows belong to the other trees, one each.
            let others = self.trees.len() - index - 1;
            let shown = tree.groups.len().min(MAX_GROUPS).min(left.saturating_sub(others));
            left -= shown;
            let words = if shown == 0 { states_of(tree) } else { Vec::new() };
            lines.push(head(context, tree, &words));
            let wide =
                tree.groups.iter().take(shown).map(|group| group.name.chars().count()).max().unwrap_or(0);
            lines.extend(tree.groups.iter().take(shown).map(|each| group(context, each, wide)));
        }
        lines.extend(sessions);
        lines
    }

    /// In one line: the database's sessions, and what most threads wait for.
    fn summary_parts(&self) -> Vec<String> {
        let session = self.sessions.first().map(|part| format!("PostgreSQL: {}", words(part)));
        session.into_iter().chain(self.trees.first().map(states_of).unwrap_or_default()).collect()
    }
}

/// What a tree's threads do, over all groups, most first.
fn states_of(tree: &TreeStatus) -> Vec<String> {
    let mut all: Vec<StackPart> = Vec::new();
    for state in tree.groups.iter().flat_map(|group| &group.states) {
        match all.iter_mut().find(|known| known.name == state.name) {
            Some(known) => known.count += state.count,
            None => all.push(state.clone()),
        }
    }
    all.sort_by(|a, b| b.count.total_cmp(&a.count));
    all.iter().take(3).map(words).collect()
}

fn words(part: &StackPart) -> String {
    format!("{} {}", number(part.count), part.name)
}

/// Integers from ten on: enough at a glance.
fn number(count: f64) -> String {
    if count >= 9.95 {
        format!("{count:.0}")
    } else {
        format!("{count:.1}").trim_end_matches(".0").to_owned()
    }
}

/// `java  1.85 of 2 CPUs ██████████  9.5 ready`.
fn head(context: &FrameContext<'_>, tree: &TreeStatus, rest: &[String]) -> Line<'static> {
    let full = tree.allowed.is_some_and(|allowed| tree.cpus >= NEARLY_FULL * allowed);
    let tone = if full { Tone::Warn } else { Tone::Strong };
    let of = tree.allowed.map_or(String::new(), |allowed| format!(" of {}", number(allowed)));
    let mut spans = vec![
        context.span(format!("{} ", tree.name), Tone::Faint),
        context.span(format!("{:.2}{of} CPUs", tree.cpus), tone),
    ];
    if let Some(allowed) = tree.allowed.filter(|allowed| *allowed > 0.0 && context.width >= WIDE_WIDTH) {
        let full = (tree.cpus / allowed * 10.0).round().clamp(0.0, 10.0) as usize;
        spans.push(Span::raw(" "));
        spans.push(context.span("━".repeat(full), tone));
        spans.push(context.span("─".repeat(10 - full), Tone::Faint));
    }
    let ready = tree.ready.map(|ready| {
        let tone = if ready >= 1.0 { Tone::Warn } else { Tone::Plain };
        context.span(format!(" · {} ready", number(ready)), tone)
    });
    spans.extend(ready);
    let share = |share: f64| format!(" · quota used up in {:.0} % of periods", share * 100.0);
    spans.extend(tree.throttled.map(|throttled| context.span(share(throttled), Tone::Bad)));
    spans.extend(rest.iter().map(|words| Span::raw(format!(" · {words}"))));
    cut(spans, usize::from(context.width)).into()
}

/// `  exec-N  200 ████▓▓░  189 waits for another thread · 11 runs, or is ready to`.
fn group(context: &FrameContext<'_>, group: &ThreadGroupStatus, wide: usize) -> Line<'static> {
    let wide = wide.min(24);
    let name: String = group.name.chars().take(wide).collect();
    let mut spans = vec![
        context.span(format!("  {name:<wide$} "), Tone::Plain),
        context.span(format!("{:>5} ", number(group.threads)), Tone::Strong),
        context.span(
            format!("{:>5.2} CPU ", group.cpus),
            if group.cpus >= NEARLY_FULL { Tone::Warn } else { Tone::Faint },
        ),
    ];
    spans.extend(stacked(context, &group.states, group.threads));
    cut(spans, usize::from(context.width)).into()
}

fn sessions(context: &FrameContext<'_>, parts: &[StackPart]) -> Line<'static> {
    let all: f64 = parts.iter().map(|part| part.count).sum();
    let mut spans = vec![
        context.span("PostgreSQL ", Tone::Faint),
        context.span(format!("{} busy ", number(all)), Tone::Strong),
    ];
    spans.extend(stacked(context, parts, all));
    cut(spans, usize::from(context.width)).into()
}

/// A bar of the parts, then each in words in its colour.
fn stacked(context: &FrameContext<'_>, parts: &[StackPart], all: f64) -> Vec<Span<'static>> {
    let long = (usize::from(context.width) / 4).min(MAX_BAR_WIDTH);
    let mut spans = Vec::new();
    let (mut sum, mut drawn) = (0.0, 0);
    for (nth, part) in parts.iter().enumerate() {
        sum += part.count;
        let end = (sum / all.max(f64::MIN_POSITIVE) * long as f64).round().min(long as f64) as usize;
        // Without colours shades tell neighbours apart.
        let shade = ["█", "▓", "▒", "░"][nth.min(3)];
        spans.push(Span::styled(shade.repeat(end - drawn), context.palette.role(part.role)));
        drawn = end;
    }
    spans.push(Span::raw(" ".repeat(long - drawn + 1)));
    for (nth, part) in parts.iter().enumerate() {
        let dot = if nth == 0 { "" } else { " · " };
        spans.push(Span::raw(dot));
        spans.push(Span::styled(words(part), context.palette.role(part.role)));
    }
    spans
}
