//! Which code the target ran well below a search's limit and just above: the line in the verdict, and what grew in between.

use crate::document::TextTable;
use crate::{RunView, Text, Tone, symbol};
use record::{LoadSide, Profile};
use stacks::{CodeChange, SummaryPart, share_changes, summarize, topic_changes};

/// Maximum parts named in a line, and the least share of one.
const MAX_NAMED: usize = 3;
const MIN_SHARE: f64 = 0.05;
/// Smaller increases of a share are not mentioned in a line.
const MIN_INCREASE: f64 = 0.03;
/// With fewer samples no share is given.
const MIN_SAMPLES: u64 = 100;
/// Maximum functions in the table of those that grew.
const MAX_SHOWN: usize = 10;
/// Maximum length of a name in a line.
const MAX_NAME_LEN: usize = 56;

/// The profiles from both sides of the limit.
fn sides(view: &RunView) -> Option<(&Profile, &Profile)> {
    let of = |side| view.profiles.iter().find(|profile| profile.load.is_some_and(|load| load.side == side));
    of(LoadSide::Well).zip(of(LoadSide::Above))
}

/// `41 % of its processor time is in template rendering (org.thymeleaf.TemplateEngine.process), 12 % in JSON; …`.
pub(crate) fn line(view: &RunView) -> Option<Text> {
    let (below, above) = sides(view)?;
    let known: Vec<_> =
        summarize(above).iter().filter_map(|part| part_of(above, part)).take(MAX_NAMED).collect();
    let (first, rest) = known.split_first().filter(|_| above.samples >= MIN_SAMPLES)?;
    let (share, what) = first;
    let rest: String = rest.iter().map(|(share, what)| format!(", {share} in {what}")).collect();
    let line = Text::labelled("code", format!("{share} of its processor time is in {what}{rest}"));
    Some(match growth_words(below, above) {
        Some(rises) => line.with_plain(format!("; {rises}")),
        None => line,
    })
}

fn part_of(profile: &Profile, part: &SummaryPart) -> Option<(String, String)> {
    let share = part.samples as f64 / profile.samples.max(1) as f64;
    let name = part.function.and_then(|function| profile.functions.get(function as usize));
    let name = name.map(|function| symbol::cut(&function.name, MAX_NAME_LEN));
    let what = match (part.topic, name) {
        (Some(topic), Some(name)) => format!("{topic} ({name})"),
        (Some(topic), None) => topic.to_owned(),
        (None, name) => name?,
    };
    (share >= MIN_SHARE).then(|| (whole(share), what))
}

/// The purpose whose share rose most, else the function.
fn growth_words(below: &Profile, above: &Profile) -> Option<String> {
    let most = |changes: Vec<CodeChange>| {
        changes.into_iter().next().filter(|change| change.grew() && change.difference.value >= MIN_INCREASE)
    };
    let most = most(topic_changes(below, above)).or_else(|| most(share_changes(below, above)))?;
    let name = symbol::cut(&most.name, MAX_NAME_LEN);
    let (before, after) = (whole(most.before), whole(most.after));
    Some(format!("above the limit the share of {name} rises from {before} to {after}"))
}

fn whole(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The functions that grew most between the two loads, with notes.
pub(crate) fn growth_tables(view: &RunView) -> (Vec<Text>, Option<TextTable>) {
    let Some((below, above)) = sides(view) else { return Default::default() };
    let changes = share_changes(below, above);
    let grown: Vec<&CodeChange> = changes.iter().filter(|change| change.grew()).take(MAX_SHOWN).collect();
    if grown.is_empty() {
        let text = format!(
            "from well below the limit to above it nothing grew by more than chance allows ({} functions compared)",
            changes.len()
        );
        return (vec![Text::plain(text)], None);
    }
    let mut table = TextTable::with_text_last(&["function", "more", "well below", "above", "module"])
        .titled("what grew most from well below the limit to above it, of what functions do themselves");
    for change in &grown {
        let points = |share: f64| format!("{:.1}", share * 100.0);
        let by = change.difference;
        let more = format!("+{} ({}–{})", points(by.value), points(by.low), points(by.high));
        let share = |share: f64| format!("{} %", points(share));
        let cells = [
            symbol::short(&change.name),
            more,
            share(change.before),
            share(change.after),
            change.module.clone(),
        ];
        table.push_row(cells.map(|cell| (cell, Tone::Plain)));
    }
    let text = format!(
        "more: in points of the processor time; all {} intervals hold together at 95 % confidence",
        changes.len()
    );
    (vec![Text::new(Tone::Faint, text)], Some(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{CallNode, CodeFunction, CodeModule, ProfiledLoad, StackCount};

    /// Samples in template rendering, JSON, a spinning kernel, and unknown code.
    fn profile(side: LoadSide, samples: [u64; 4]) -> Profile {
        let names = [
            "org.thymeleaf.TemplateEngine.process",
            "com.fasterxml.jackson.databind.ObjectMapper.writeValue",
        ];
        let names = names.into_iter().chain(["native_queued_spin_lock_slowpath", "clinic.Owners.find"]);
        let module = |name: &str| CodeModule { name: name.to_owned(), nameless: None };
        let function = |(nth, name): (usize, &str)| {
            let module = u32::from(nth == 2);
            CodeFunction { name: name.to_owned(), module, file: None, line: None }
        };
        Profile {
            load: Some(ProfiledLoad { side, rate: None }),
            hz: 199,
            samples: samples.iter().sum(),
            threads: vec!["http-N".to_owned()],
            modules: vec![module("java"), module("[kernel]")],
            functions: names.enumerate().map(function).collect(),
            calls: (0..4).map(|function| CallNode::new(None, function)).collect(),
            stacks: (0..).zip(samples).map(|(place, samples)| StackCount(0, place, samples)).collect(),
            ..Profile::default()
        }
    }

    fn view(well: [u64; 4], above: [u64; 4]) -> RunView {
        let profiles = vec![profile(LoadSide::Well, well), profile(LoadSide::Above, above)];
        RunView { profiles, ..RunView::default() }
    }

    #[test]
    fn a_line_says_what_the_code_is_for_and_what_rises() {
        let view = view([500, 150, 10, 340], [410, 120, 170, 300]);
        let expected = "code: 41 % of its processor time is in template rendering (org.thymeleaf.TemplateEngine.process), \
                        30 % in clinic.Owners.find, 17 % in lock spinning (native_queued_spin_lock_slowpath); \
                        above the limit the share of lock spinning rises from 1 % to 17 %";
        assert_eq!(line(&view).map(|line| line.to_string()).as_deref(), Some(expected));
        let (texts, table) = growth_tables(&view);
        let lines = table.expect("one grew").lines();
        assert!(lines.iter().any(|line| line.to_string().contains("+16.0 (1")), "{lines:#?}");
        assert!(texts[0].to_string().contains("all 4 intervals hold together"), "{texts:?}");
    }

    #[test]
    fn of_the_same_twice_nothing_grew() {
        let view = view([500, 150, 10, 340], [505, 145, 12, 338]);
        let said = line(&view).expect("there are samples").to_string();
        assert!(!said.contains("rises"), "{said}");
        let (texts, table) = growth_tables(&view);
        assert!(
            table.is_none() && texts[0].to_string().contains("nothing grew by more than chance"),
            "{texts:?}"
        );
    }

    #[test]
    fn of_few_samples_nothing_is_said() {
        assert_eq!(line(&view([20, 0, 0, 0], [40, 0, 0, 0])), None);
        assert_eq!(line(&RunView::default()), None);
    }
}
