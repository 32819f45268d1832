use super::{no_verdict_line, unfinished};
use crate::document::indent_all;
use crate::experiment::{
    DesignLookup, answer_counts, certainty, design_line, sentences, tables, void_starts,
};
use crate::wording::number_of;
use crate::wording::whole_seconds;
use crate::{RunView, Text, Tone, fleet};
use record::{ArmStart, ExperimentEnd, HypothesisAnswer, RunId, StartTimes};
use units::Nanos;

/// Shorter parts of a start are left out.
const MIN_SHOWN: Nanos = Nanos::from_millis(50);

pub(super) fn lines(view: &RunView) -> Vec<Text> {
    let Some(lookup) = DesignLookup::of(view) else { return indent_all(headline_lines(view)) };
    let head = unfinished(view).into_iter().chain(headline(view, &lookup));
    let mut lines = indent_all(head.chain([Text::empty()]));
    lines.extend(sentences(&lookup));
    if lookup.all_starts.is_empty() {
        lines.extend(indent_all(resume(view, &lookup)));
        return lines;
    }
    lines.extend(tables(&lookup));
    let sure = certainty(&lookup);
    if !sure.is_empty() {
        lines.extend(sure);
        lines.push(Text::empty());
    }
    let mut rest = void_starts(&lookup);
    rest.push(spent(&lookup));
    rest.extend(start_time_line(&lookup));
    rest.extend(fleet::lines(view, "fleet: "));
    rest.extend(kept(&lookup));
    if !view.logs.is_empty() {
        let command = view.started.as_ref().map(|started| format!("torment show {} --logs", started.id));
        rest.extend(command.map(|command| Text::labelled("logs", command)));
    }
    rest.extend(resume(view, &lookup));
    lines.extend(indent_all(rest));
    lines
}

/// The answers and why it ended, or the state.
pub(super) fn headline_lines(view: &RunView) -> Vec<Text> {
    let Some(lookup) = DesignLookup::of(view) else {
        return vec![unfinished(view).unwrap_or_else(no_verdict_line)];
    };
    headline(view, &lookup).into_iter().chain(unfinished(view)).collect()
}

/// The answers, and why it ended.
fn headline(view: &RunView, lookup: &DesignLookup<'_>) -> Vec<Text> {
    let state = lookup.state;
    let asked = state.judged.iter().filter(|result| result.hypothesis.is_some());
    let mut lines = Vec::new();
    if asked.clone().next().is_some() {
        lines.push(Text::new(Tone::Strong, answer_counts(asked.clone())).with_plain(format!(
            " · {} of at most {}",
            state.blocks,
            number_of(lookup.design.most as usize, "block")
        )));
    } else if view.end.is_none() {
        lines.push(Text::plain(design_line(lookup.design).to_string()));
    }
    let over = match state.over {
        Some(ExperimentEnd::BudgetSpent) => Some((
            Tone::Warn,
            "time ran out",
            ": the next block would not have fit; more blocks need a larger budget",
        )),
        Some(ExperimentEnd::BlocksMade)
            if asked.clone().any(|result| result.answer == HypothesisAnswer::Undecided) =>
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
fn spent(lookup: &DesignLookup<'_>) -> Text {
    let time = lookup.all_starts.iter().fold(Nanos::ZERO, |sum, start| sum + start.took);
    let time = whole_seconds(time);
    let pilot = lookup.all_starts.iter().filter(|start| start.block == 0).count();
    let made = number_of(lookup.all_starts.len(), "start");
    let alone = if lookup.state.blocks == 0 || pilot == 0 {
        String::new()
    } else {
        format!(", the first {pilot} of the plan as it stands")
    };
    let sure = lookup.design.confidence;
    Text::labelled(
        "time",
        format!(
            "{made}{alone}; {time}; seed {}; {sure} confidence in all answers together",
            lookup.design.seed
        ),
    )
}

/// Where a start's time goes, on average; `None` if the run did not store it.
fn start_time_line(lookup: &DesignLookup<'_>) -> Option<Text> {
    let starts: Vec<&ArmStart> = lookup.all_starts.iter().filter(|start| start.void.is_none()).collect();
    let count = u64::try_from(starts.len()).ok().filter(|count| *count > 0)?;
    let (mut sum, mut took, mut ready) = (StartTimes::default(), Nanos::ZERO, Nanos::ZERO);
    for start in &starts {
        sum.add(&start.spent);
        took += start.took;
        ready += start.started_in;
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
    let parts = parts.into_iter().filter(|(time, _)| *time / count >= MIN_SHOWN);
    let parts: Vec<String> = parts.map(|(time, what)| format!("{} {what}", seconds(time))).collect();
    let text = format!("{} on average: {}", seconds(took), parts.join(", "));
    Some(Text::labelled("a start", text))
}

/// Every measurement is its own run. Names each arm's middle one.
fn kept(lookup: &DesignLookup<'_>) -> Vec<Text> {
    let count: usize = lookup.all_starts.iter().map(|start| start.taken.len()).sum();
    if count == 0 {
        return Vec::new();
    }
    let middle = |arm: usize| -> Option<(&str, &RunId)> {
        let starts: Vec<&ArmStart> = lookup.valid_starts(arm).collect();
        let measurements = &starts.get(starts.len() / 2)?.taken;
        Some((lookup.arm(arm), &measurements.first()?.run))
    };
    let head = format!(
        "{}; torment explain RUN says what gave first in each, such as",
        number_of(count, "measurement")
    );
    let mut lines = vec![Text::labelled("kept", head)];
    let each = (0..lookup.design.arms.len()).filter_map(middle);
    lines.extend(each.map(|(arm, run)| {
        Text::empty_at_depth(3).with_plain(run.to_string()).with_span(Tone::Faint, format!("  {arm}"))
    }));
    lines
}

/// How to resume it, if unfinished.
fn resume(view: &RunView, lookup: &DesignLookup<'_>) -> Option<Text> {
    let id = &view.started.as_ref()?.id;
    let cut = view.end.is_none() && !view.running || lookup.state.over == Some(ExperimentEnd::Interrupted);
    cut.then(|| {
        Text::new(Tone::Faint, "resume: ")
            .with_span(Tone::Strong, format!("torment try --resume {id}"))
            .with_plain("; what is already measured is not measured again")
    })
}
