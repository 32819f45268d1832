use super::unfinished;
use crate::document::indent_all;
use crate::experiment::{
    DesignLookup, answer_counts, certainty, design_line, number_of, sentences, tables, void_starts,
};
use crate::wording::whole_seconds;
use crate::{RunView, Text, Tone, fleet};
use record::{ArmStart, ExperimentEnd, ExperimentState, HypothesisAnswer, RunId, StartTimes};
use units::Nanos;

/// Shorter parts of a start are left out.
const SHOWN: Nanos = Nanos::from_millis(50);

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let Some(names) = DesignLookup::of(view) else { return indent_all(headline_lines(view)) };
    let nothing = ExperimentState::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    let head = unfinished(view).into_iter().chain(headline(view, &names, standing));
    let mut lines = indent_all(head.chain([Text::empty()]));
    lines.extend(sentences(&names, standing));
    if names.visits.is_empty() {
        lines.extend(indent_all(resume(view, standing)));
        return lines;
    }
    lines.extend(tables(&names));
    let sure = certainty(&names, standing);
    if !sure.is_empty() {
        lines.extend(sure);
        lines.push(Text::empty());
    }
    let mut rest = void_starts(&names);
    rest.push(spent(&names, standing));
    rest.extend(a_start(&names));
    rest.extend(fleet::lines(view, "fleet: "));
    rest.extend(kept(&names));
    if !view.logs.is_empty() {
        rest.extend(view.started.as_ref().map(|started| logs(&started.id)));
    }
    rest.extend(resume(view, standing));
    lines.extend(indent_all(rest));
    lines
}

/// The answers and why it ended, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    let Some(names) = DesignLookup::of(view) else {
        let none = view.end.as_ref().map(|_| Text::new(Tone::Bad, "no verdict"));
        return unfinished(view).into_iter().chain(none).collect();
    };
    let nothing = ExperimentState::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    headline(view, &names, standing).into_iter().chain(unfinished(view)).collect()
}

/// The answers, and why it ended.
fn headline(view: &RunView, names: &DesignLookup<'_>, standing: &ExperimentState) -> Vec<Text> {
    let asked = standing.judged.iter().filter(|judged| judged.hypothesis.is_some());
    let mut lines = Vec::new();
    if asked.clone().next().is_some() {
        lines.push(Text::new(Tone::Strong, answer_counts(asked.clone())).with_plain(format!(
            " · {} of at most {}",
            standing.blocks,
            number_of(names.design.most as usize, "block")
        )));
    } else if view.end.is_none() {
        lines.push(Text::plain(design_line(names.design).to_string()));
    }
    let over = match standing.over {
        Some(ExperimentEnd::BudgetSpent) => Some((
            Tone::Warn,
            "time ran out",
            ": the next block would not have fit; more blocks need a larger budget",
        )),
        Some(ExperimentEnd::BlocksMade)
            if asked.clone().any(|judged| judged.answer == HypothesisAnswer::Undecided) =>
        {
            Some((Tone::Warn, "all planned blocks are done", ": more blocks would narrow the intervals"))
        }
        Some(ExperimentEnd::NothingToCompare) => Some((
            Tone::Bad,
            "nothing to compare",
            ": the plan as it stands, or all else, could not be measured",
        )),
        Some(ExperimentEnd::Interrupted) => {
            Some((Tone::Warn, "interrupted", ": that is what is known so far"))
        }
        Some(ExperimentEnd::Decided | ExperimentEnd::BlocksMade) | None => None,
    };
    lines.extend(over.map(|(tone, words, rest)| Text::new(tone, words).with_plain(rest)));
    lines
}

/// Number of starts, time taken, and order.
fn spent(names: &DesignLookup<'_>, standing: &ExperimentState) -> Text {
    let time = names.visits.iter().fold(Nanos::ZERO, |sum, visit| sum + visit.took);
    let time = whole_seconds(time);
    let pilot = names.visits.iter().filter(|visit| visit.block == 0).count();
    let made = number_of(names.visits.len(), "start");
    let alone = if standing.blocks == 0 || pilot == 0 {
        String::new()
    } else {
        format!(", the first {pilot} of the plan as it stands")
    };
    let sure = names.design.confidence;
    Text::labelled(
        "time",
        format!(
            "{made}{alone}; {time}; seed {}; {sure} confidence in all answers together",
            names.design.seed
        ),
    )
}

/// Where a start's time goes, on average; `None` if the run did not store it.
fn a_start(names: &DesignLookup<'_>) -> Option<Text> {
    let visits: Vec<&ArmStart> = names.visits.iter().filter(|visit| visit.void.is_none()).collect();
    let count = u64::try_from(visits.len()).ok().filter(|count| *count > 0)?;
    let (mut sum, mut took, mut ready) = (StartTimes::default(), Nanos::ZERO, Nanos::ZERO);
    for visit in &visits {
        sum.add(&visit.spent);
        took += visit.took;
        ready += visit.started_in;
    }
    if sum == StartTimes::default() {
        return None;
    }
    let StartTimes { needs, reset, warm, load, again, drain, rest, stop } = sum;
    let parts = [
        (needs, "dependencies"),
        (ready, "startup"),
        (reset, "reset"),
        (warm, "warm-up"),
        (load, "load"),
        (again, "repeated load"),
        (drain, "drain"),
        (rest, "setup"),
        (stop, "shutdown"),
    ];
    let seconds = |time: Nanos| format!("{:.1} s", (time / count).as_secs_f64());
    let parts = parts.into_iter().filter(|(time, _)| *time / count >= SHOWN);
    let parts: Vec<String> = parts.map(|(time, what)| format!("{} {what}", seconds(time))).collect();
    let text = format!("{} on average: {}", seconds(took), parts.join(", "));
    Some(Text::labelled("a start", text))
}

/// Every measurement is its own run. Names each arm's middle one.
fn kept(names: &DesignLookup<'_>) -> Vec<Text> {
    let count: usize = names.visits.iter().map(|visit| visit.taken.len()).sum();
    if count == 0 {
        return Vec::new();
    }
    let middle = |arm: usize| -> Option<(&str, &RunId)> {
        let visits: Vec<&ArmStart> = names.valid_starts(arm).collect();
        let taken = &visits.get(visits.len() / 2)?.taken;
        Some((names.arm(arm), &taken.first()?.run))
    };
    let head = format!(
        "{}; torment explain RUN says of one what gave first, such as",
        number_of(count, "measurement")
    );
    let mut lines = vec![Text::labelled("kept", head)];
    let each = (0..names.design.arms.len()).filter_map(middle);
    lines.extend(each.map(|(arm, run)| {
        Text::empty_at_depth(3).with_plain(run.to_string()).with_span(Tone::Faint, format!("  {arm}"))
    }));
    lines
}

fn logs(id: &RunId) -> Text {
    Text::labelled("logs", format!("torment show {id} --logs"))
}

/// How to resume it, if unfinished.
fn resume(view: &RunView, standing: &ExperimentState) -> Option<Text> {
    let id = &view.started.as_ref()?.id;
    let cut = view.end.is_none() && !view.running || standing.over == Some(ExperimentEnd::Interrupted);
    cut.then(|| {
        Text::new(Tone::Faint, "resume: ")
            .with_span(Tone::Strong, format!("torment try --resume {id}"))
            .with_plain("; what is already measured is not measured again")
    })
}
