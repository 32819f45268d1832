//! On-CPU profiles: the functions with the most time, self and with callees, and what could not be seen.

use crate::document::{FlameChart, Section, TextTable, indent_all};
use crate::symbol::short;
use crate::{RunView, Text, Tone, hot_code};
use record::{LoadSide, Profile, ProfiledLoad, UnnamedReason};
use stacks::{SampleCount, Tally, flame_graph};
use stats::Estimate;
use units::{Nanos, grouped};

/// Maximum functions in a table.
const MAX_SHOWN: usize = 10;
/// Maximum modules without symbols mentioned.
const MAX_UNNAMED: usize = 3;
/// A smaller unseen share of the samples changes no figure.
const NEGLIGIBLE_SHARE: f64 = 0.01;

/// A run's profiles under one heading, if any; if two, each table names its side of the limit.
pub(crate) fn section(view: &RunView) -> Section {
    if view.profiles.is_empty() {
        return Section::default();
    }
    let named = Section::named("profile", "What ran on the processors");
    let (texts, grew) = hot_code::growth_tables(view);
    let several = view.profiles.len() > 1;
    let of_one = |section: Section, profile: &Profile| {
        let tally = Tally::of(profile);
        let section = section.texts([head(profile)]).texts(unseen(profile, &tally));
        let titled = |table: TextTable| {
            let title = format!("{}{}", side(profile).filter(|_| several).unwrap_or_default(), table.title);
            table.titled(&title)
        };
        tables(profile, &tally).map(titled).into_iter().fold(section, Section::table)
    };
    // Overload first: it matters most.
    let section = view.profiles.iter().rev().fold(named.texts(hot_code::line(view)), of_one);
    let section = grew.into_iter().fold(section.texts(texts), Section::table);
    flame(view).into_iter().fold(section, Section::flame)
}

/// Of the last load, compared with the one before.
fn flame(view: &RunView) -> Option<FlameChart> {
    let (last, before) = view.profiles.split_last()?;
    let title = "Which code calls which, as a flame graph";
    let (name, first) = (side(last).map_or("", |side| side.trim_end_matches(", ")), before.first());
    let beside = first.and_then(side).map(|side| side.trim_end_matches(", "));
    Some(FlameChart::of(title, name, beside, &flame_graph(last, first)))
        .filter(|flame| !flame.calls.is_empty())
}

fn side(profile: &Profile) -> Option<&'static str> {
    profile.load.map(|load| match load.side {
        LoadSide::Well => "below the limit, ",
        LoadSide::Above => "above the limit, ",
    })
}

/// The complete profiles, for a terminal.
pub(crate) fn explained(view: &RunView) -> Vec<Text> {
    let Some(Section { title, texts, tables, .. }) = section(view).non_empty() else { return Vec::new() };
    let head = indent_all([Text::empty(), Text::new(Tone::Faint, title)]);
    let head = head.into_iter().chain(indent_all(texts.into_iter().chain([Text::empty()])));
    head.chain(titled(&tables)).collect()
}

/// Titled tables, each followed by an empty line.
fn titled(tables: &[TextTable]) -> Vec<Text> {
    let mut lines = Vec::new();
    for table in tables.iter().filter(|table| !table.is_empty()) {
        lines.extend(indent_all([Text::new(Tone::Faint, &table.title)]));
        lines.extend(table.indented_lines(1));
        lines.push(Text::empty());
    }
    lines
}

pub(crate) fn lines(profile: &Profile) -> Vec<Text> {
    let tally = Tally::of(profile);
    let mut lines = indent_all([head(profile), Text::empty()]);
    lines.extend(titled(&tables(profile, &tally)));
    let unseen = unseen(profile, &tally);
    let apart = (!unseen.is_empty()).then(Text::empty);
    lines.extend(indent_all(unseen));
    lines.extend(apart);
    lines
}

fn tables(profile: &Profile, tally: &Tally) -> [TextTable; 3] {
    let (itself, with_callees) = ("itself", "with what it calls");
    let own = tally.by_own().into_iter().filter(|count| count.own > 0);
    let own = own.map(|SampleCount { index, own, total, .. }| (index, own, total));
    // Omits functions that merely lead to one other, such as `main`; those that many lead to keep their callers in.
    let total = tally.by_total().into_iter().filter(|count| !count.is_pass_through());
    let total = total.map(|SampleCount { index, own, total, .. }| (index, total, own));
    [
        functions(profile, tally, [itself, with_callees], own).titled("by what they do themselves"),
        functions(profile, tally, [with_callees, itself], total)
            .titled("with what they call, but for those that only lead to another"),
        modules(profile, tally),
    ]
}

fn head(profile: &Profile) -> Text {
    let Profile { samples, length, hz, .. } = profile;
    let seconds = Nanos::from_millis((length.as_secs_f64() * 10.0).round() as u64 * 100);
    if *samples == 0 {
        let text =
            format!("it was never on a processor in {seconds}, sampled {hz} times a second: it was waiting");
        return Text::new(Tone::Warn, text);
    }
    let time = profile.time_of(*samples);
    let processors = time.as_secs_f64() / length.as_secs_f64().max(1e-9);
    let by_kernel =
        profile.processor_time.map_or(String::new(), |time| format!("; the kernel counts {time}"));
    let load = profile.load.map_or(String::new(), |ProfiledLoad { side, rate }| {
        let at = rate.map_or(String::new(), |rate| format!(" of {rate}"));
        let held = match side {
            LoadSide::Well => "held",
            LoadSide::Above => "did not hold",
        };
        format!(" under a load{at} that it {held}")
    });
    Text::new(Tone::Strong, format!("{} samples", grouped(*samples))).with_plain(format!(
        " in {seconds} at {hz} Hz{load}: {time} of processor time, {processors:.2} processors{by_kernel}"
    ))
}

/// `41.2 % (38.7–43.8)`: a share with its interval.
fn estimate(share: Option<Estimate>) -> String {
    share.map_or_else(String::new, |Estimate { value, low, high }| {
        format!("{:.1} % ({:.1}–{:.1})", value * 100.0, low * 100.0, high * 100.0)
    })
}

fn percent(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(String::new, |estimate| format!("{:.1} %", estimate.value * 100.0))
}

/// A table of functions, each with its index and the samples of both columns; with processor time per request, if there were requests.
fn functions(
    profile: &Profile,
    tally: &Tally,
    [first, second]: [&str; 2],
    rows: impl Iterator<Item = (u32, u64, u64)>,
) -> TextTable {
    let requests = profile.requests.filter(|requests| *requests > 0);
    let mut table = match requests {
        Some(_) => TextTable::with_text_last(&["function", first, "a request", second, "module"]),
        None => TextTable::with_text_last(&["function", first, second, "module"]),
    };
    for (of, samples, others) in rows.take(MAX_SHOWN) {
        let (name, module) = named(profile, of);
        let request = requests.map(|requests| Nanos(profile.time_of(samples).0 / requests).to_string());
        let (share, other) = (estimate(tally.share(samples)), percent(tally.share(others)));
        let cells = [Some(name), Some(share), request, Some(other), Some(module)];
        table.push_row(cells.into_iter().flatten().map(|cell| (cell, Tone::Plain)));
    }
    table
}

fn modules(profile: &Profile, tally: &Tally) -> TextTable {
    let mut table = TextTable::new(&["module", "itself", "with what it calls"]).titled("by module");
    for SampleCount { index: of, own, total, .. } in tally.modules_by_own().into_iter().take(MAX_SHOWN) {
        let name = profile.modules.get(of as usize).map_or("", |module| &module.name);
        let cells = [short(name), estimate(tally.share(own)), percent(tally.share(total))];
        table.push_row(cells.map(|cell| (cell, Tone::Plain)));
    }
    table
}

fn named(profile: &Profile, function: u32) -> (String, String) {
    let Some(function) = profile.functions.get(function as usize) else { return Default::default() };
    let module = profile.modules.get(function.module as usize).map_or("", |module| &module.name);
    let place = match (&function.file, function.line) {
        (Some(file), Some(line)) => format!("{module} ({file}:{line})"),
        _ => module.to_owned(),
    };
    (short(&function.name), place)
}

/// What could not be seen, and how to see more.
fn unseen(profile: &Profile, tally: &Tally) -> Vec<Text> {
    let warn = |text: String| Text::new(Tone::Warn, text);
    let of_all = |count: u64| count as f64 / tally.samples.max(1) as f64;
    let mut lines = Vec::new();
    let mut tell = |count: u64, what: &str| {
        if of_all(count) >= NEGLIGIBLE_SHARE {
            lines.push(warn(format!("{} of the stacks {what}", percent(tally.share(count)))));
        }
    };
    tell(
        profile.truncated,
        "could not be unwound to their root: shares that include callees may be too low by up to as much",
    );
    tell(profile.other, "found no room and are in no function: there were too many different ones");
    if profile.lost > 0 {
        lines.push(warn(format!(
            "the kernel dropped {} samples of unknown origin: torment was too late to read them",
            grouped(profile.lost)
        )));
    }
    if profile.without_kernel {
        lines.push(warn(
            "torment is not allowed to sample the kernel, so no share includes its work for this process: run torment as root, or set \
             kernel.perf_event_paranoid to 1"
                .to_owned(),
        ));
    }
    let nameless = tally.modules_by_own().into_iter().filter_map(|portion| {
        let module = profile.modules.get(portion.index as usize)?;
        let why = module.nameless.as_ref()?;
        (of_all(portion.own) >= NEGLIGIBLE_SHARE).then(|| Text::plain(more(&module.name, why)))
    });
    lines.extend(nameless.take(MAX_UNNAMED));
    lines
}

/// Why a module lacks symbols, and how to get them.
fn more(module: &str, why: &UnnamedReason) -> String {
    match why {
        UnnamedReason::Stripped { build_id: Some(id) } => format!(
            "{module} has been stripped of most names; get them from its debug-symbol package, or with debuginfod-find \
             debuginfo {id}, and put them in /usr/lib/debug/.build-id"
        ),
        UnnamedReason::Stripped { build_id: None } => {
            format!("{module} has been stripped of its names, and has no build id; build it without stripping (-s)")
        }
        UnnamedReason::Unreadable { why } => format!("{module} could not be read: {why}"),
        UnnamedReason::Generated => {
            "code that the program made while it ran has no names: run torment as root, or start the program so that it writes \
             them down (Node.js with --perf-basic-prof, Python with -X perf)"
                .to_owned()
        }
        UnnamedReason::Hidden => {
            "the kernel hides the names of its functions (kernel.kptr_restrict); run torment as root to see them".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallNode, CodeFunction, CodeModule, StackCount};

    fn profile() -> Profile {
        let function =
            |name: &str, module| CodeFunction { name: name.to_owned(), module, file: None, line: None };
        let module = |name: &str, nameless| CodeModule { name: name.to_owned(), nameless };
        Profile {
            length: Nanos::from_secs(10),
            hz: 99,
            samples: 1000,
            processor_time: Some(Nanos::from_millis(10_100)),
            truncated: 50,
            lost: 3,
            threads: vec!["worker-N".to_owned()],
            modules: vec![
                module("app", None),
                module("libx.so", Some(UnnamedReason::Stripped { build_id: None })),
            ],
            functions: vec![function("main", 0), function("parse", 0), function("[libx.so]", 1)],
            calls: vec![CallNode::new(None, 0), CallNode::new(Some(0), 1), CallNode::new(Some(1), 2)],
            stacks: vec![StackCount(0, 1, 700), StackCount(0, 2, 300)],
            ..Profile::default()
        }
    }

    fn said(profile: &Profile) -> Vec<String> {
        super::lines(profile).iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn shares_come_with_their_intervals() {
        let lines = said(&profile());
        for expected in [
            "1,000 samples in 10 s at 99 Hz: 10.1 s of processor time, 1.01 processors; the kernel counts 10.1 s",
            "70.0 % (67.1–72.8)",
            "30.0 % (27.2–32.9)",
            "5.0 % of the stacks could not be unwound to their root",
            "the kernel dropped 3 samples",
            "libx.so has been stripped of its names, and has no build id",
        ] {
            assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
        }
        let first = lines.iter().position(|line| line.contains("itself")).expect("there is a table");
        assert!(lines[first + 1].trim_start().starts_with("parse"), "{lines:#?}");
    }

    #[test]
    fn a_request_has_its_part() {
        let load = Some(ProfiledLoad { side: LoadSide::Above, rate: Some(units::Rate(500.0)) });
        let lines = said(&Profile { load, requests: Some(1000), ..profile() });
        for expected in ["under a load of 500/s that it did not hold", "a request", "7.07 ms"] {
            assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
        }
    }

    #[test]
    fn of_nothing_there_is_nothing() {
        let waits = Profile { samples: 0, stacks: Vec::new(), ..profile() };
        let lines = said(&waits);
        assert!(lines.iter().any(|line| line.contains("it was never on a processor in 10 s")), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.contains('%')), "{lines:#?}");
    }
}
