//! `torment find threads`: how many there were, what gave, and all other limits.

use super::unfinished;
use crate::document::{TextTable, indent_all};
use crate::figure_tables::wrap;
use crate::{RunView, Text, Tone};
use record::{RampEnd, SystemLimit, SystemLimitUnit, Verdict};
use units::{Bytes, grouped};

/// Rows shown of a ramp.
const MAX_RAMP_ROWS: usize = 8;

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = indent_all(unfinished(view));
    if let Some(Verdict::Tasks { reached, forecast, gave }) = view.verdict() {
        lines.extend(verdict(*reached, *forecast, gave));
        lines.push(Text::empty());
    }
    if !view.ramp.is_empty() {
        lines.extend(ramp_table(view).lines());
        lines.push(Text::empty());
    }
    lines.extend(thread_limit_lines(&view.system_limits));
    lines.push(Text::empty());
    lines
}

/// The number of threads and what gave, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    let Some(Verdict::Tasks { reached, gave, .. }) = view.verdict() else {
        return unfinished(view).into_iter().collect();
    };
    let (head, why) = end_words(*reached, gave);
    let why = why.into_iter().map(|(label, text, tone)| Text::labelled(label, "").with_span(tone, text));
    std::iter::once(head).chain(why).collect()
}

/// The number of threads, then why there were no more, as labelled facts.
fn end_words(reached: u64, end: &RampEnd) -> (Text, Vec<(&'static str, String, Tone)>) {
    let head = |text: &str| Text::new(Tone::Strong, format!("{} threads", grouped(reached))).with_plain(text);
    match end {
        RampEnd::Limit { room, call, because, close } => {
            let near = format!("{} would have given within 5 % of it: raise both", close.join(", "));
            let near = (!close.is_empty()).then_some(("close by", near, Tone::Warn));
            let why = [("because", format!("{call}; {because}"), Tone::Plain)];
            let head = head(", then ").with_span(Tone::Strong, &room.name).with_plain(" gave");
            (head, why.into_iter().chain(near).collect())
        }
        RampEnd::Killed { because, .. } => {
            let why = vec![("because", because.clone(), Tone::Plain)];
            (head(", then the kernel killed the process: out of memory"), why)
        }
        RampEnd::Reserve { room } => {
            let next = room.iter().map(|system_limit| ("next", allows(system_limit), Tone::Plain));
            let text = ", and no limit gave: the rest is left to others (--until-failure continues)";
            (head(text), next.collect())
        }
        RampEnd::Asked => (head(", as many as were asked for; no limit gave"), Vec::new()),
        RampEnd::Interrupted => (head(" when it was interrupted"), Vec::new()),
        RampEnd::Unknown { call } => {
            let text = "no readable limit explains it: one outside this container may have given, or a \
                        security module; the kernel's log (dmesg) may say more";
            (head(&format!(", then {call}")), vec![("why", text.to_owned(), Tone::Warn)])
        }
    }
}

fn verdict(reached: u64, forecast: Option<u64>, end: &RampEnd) -> Vec<Text> {
    let (head, why) = end_words(reached, end);
    let mut lines = indent_all([head]);
    lines.extend(why.iter().flat_map(|(label, text, tone)| wrap(&format!("  {label:<9}"), text, *tone)));
    let room = match end {
        RampEnd::Limit { room, .. } => Some(room),
        RampEnd::Killed { room, .. } | RampEnd::Reserve { room } => room.as_ref(),
        RampEnd::Asked | RampEnd::Interrupted | RampEnd::Unknown { .. } => None,
    };
    lines.extend(room.iter().flat_map(|limit| raise(limit)));
    if let Some(forecast) = forecast {
        let share = if forecast == 0 {
            String::new()
        } else {
            format!(": {:.1} % of it", reached as f64 / forecast as f64 * 100.0)
        };
        lines
            .push(Text::plain("  ").with_span(Tone::Faint, format!("forecast {}{share}", grouped(forecast))));
    }
    lines
}

fn raise(limit: &SystemLimit) -> Vec<Text> {
    let mut lines = wrap("  now      ", &limit.now, Tone::Plain);
    lines.extend(wrap("  for good ", &limit.for_good, Tone::Plain));
    lines
}

fn allows(limit: &SystemLimit) -> String {
    match limit.threads {
        Some(threads) => format!("{} allows {} more threads", limit.name, grouped(threads)),
        None => format!("{} allows any number", limit.name),
    }
}

/// Threads and free memory on the way up and down.
pub(crate) fn ramp_table(view: &RunView) -> TextTable {
    let mut table = TextTable::new(&["after", "threads", "free memory"]);
    let step = view.ramp.len().div_ceil(MAX_RAMP_ROWS).max(1);
    let last = view.ramp.len().saturating_sub(1);
    let most = view.ramp.iter().enumerate().max_by_key(|(_, moment)| moment.tasks).map_or(0, |(at, _)| at);
    let shown = view.ramp.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last || *at == most);
    for (_, moment) in shown {
        table.push_row([
            (format!("{:.1} s", moment.after.as_secs_f64()), Tone::Faint),
            (grouped(moment.tasks), Tone::Plain),
            (moment.free.to_string(), Tone::Plain),
        ]);
    }
    table
}

/// Limits within this factor of the first are worth raising with it.
const NEAR_FACTOR: u64 = 2;

/// The limits as a table, then how to raise those that bind first.
pub fn thread_limit_lines(all: &[SystemLimit]) -> Vec<Text> {
    let mut lines = limit_table(all).lines();
    for limit in all {
        if let Some(note) = &limit.note {
            lines.extend(wrap("  · ", &format!("{}: {note}", limit.name), Tone::Faint));
        }
    }
    for (limit, _) in near(all) {
        lines.extend([Text::empty(), Text::plain("  to raise ").with_span(Tone::Strong, &limit.name)]);
        lines.extend(raise(limit));
    }
    lines
}

/// The limits that bind first, each with how many more threads it allows.
pub(crate) fn near(all: &[SystemLimit]) -> impl Iterator<Item = (&SystemLimit, u64)> {
    let first = all.iter().find_map(|limit| limit.threads);
    all.iter().filter_map(move |room| {
        let threads = room.threads?;
        (threads <= first?.saturating_mul(NEAR_FACTOR)).then_some((room, threads))
    })
}

/// All limits, the first to bind on top.
pub(crate) fn limit_table(rooms: &[SystemLimit]) -> TextTable {
    let mut table = TextTable::with_text_last(&["limit", "allows", "in use", "threads more", "set in"]);
    let amount = |system_limit: &SystemLimit, amount: u64| match system_limit.unit {
        SystemLimitUnit::Bytes => Bytes(amount).to_string(),
        _ => grouped(amount),
    };
    for (at, system_limit) in rooms.iter().enumerate() {
        let tone = if at == 0 && system_limit.threads.is_some() { Tone::Strong } else { Tone::Plain };
        table.push_row([
            (system_limit.name.clone(), tone),
            (system_limit.limit.map_or("any".to_owned(), |limit| amount(system_limit, limit)), Tone::Plain),
            (system_limit.used.map_or("?".to_owned(), |used| amount(system_limit, used)), Tone::Plain),
            (system_limit.threads.map_or("any".to_owned(), grouped), tone),
            (system_limit.place.clone(), Tone::Faint),
        ]);
    }
    table
}
