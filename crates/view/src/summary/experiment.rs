use super::unfinished;
use crate::experiment::{Names, certainty, counted, designed, number_of, sentences, tables, void};
use crate::{Line, RunView, Tone};
use record::{ExperimentEnd, RunId, Spent, Standing, Visit};
use units::Nanos;

/// What takes less of a start is left out.
const SHOWN: Nanos = Nanos::from_millis(50);

pub(super) fn lines(view: &RunView) -> Vec<Line> {
    let mut lines: Vec<Line> = unfinished(view).into_iter().collect();
    let Some(names) = Names::of(view) else {
        lines.extend(view.end.as_ref().map(|_| Line::plain("  ").and(Tone::Bad, "no verdict")));
        return lines;
    };
    let nothing = Standing::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    lines.extend(headline(view, &names, standing));
    lines.push(Line::empty());
    lines.extend(sentences(&names, standing));
    if names.visits.is_empty() {
        lines.extend(resume(view, standing));
        return lines;
    }
    lines.extend(tables(&names));
    let sure = certainty(&names, standing);
    if !sure.is_empty() {
        lines.extend(sure);
        lines.push(Line::empty());
    }
    lines.extend(void(&names));
    lines.push(spent(&names, standing));
    lines.extend(a_start(&names));
    lines.extend(kept(&names));
    if !view.logs.is_empty() {
        lines.extend(view.started.as_ref().map(|started| logs(&started.id)));
    }
    lines.extend(resume(view, standing));
    lines
}

/// What became of the questions and why it is over, or how it stands.
pub(super) fn first(view: &RunView) -> Vec<Line> {
    let Some(names) = Names::of(view) else {
        let none = view.end.as_ref().map(|_| Line::plain("  ").and(Tone::Bad, "no verdict"));
        return unfinished(view).into_iter().chain(none).collect();
    };
    let nothing = Standing::default();
    let standing = view.standing.as_ref().unwrap_or(&nothing);
    headline(view, &names, standing).into_iter().chain(unfinished(view)).collect()
}

/// What became of the questions, and why it is over.
fn headline(view: &RunView, names: &Names<'_>, standing: &Standing) -> Vec<Line> {
    let asked = standing.judged.iter().filter(|judged| judged.hypothesis.is_some());
    let mut lines = Vec::new();
    if asked.clone().next().is_some() {
        lines.push(Line::plain("  ").and(Tone::Strong, counted(asked)).then(format!(
            " · {} of {} to {}",
            number_of(standing.blocks as usize, "block"),
            names.design.least,
            names.design.most
        )));
    } else if view.end.is_none() {
        lines.push(Line::plain("  ").then(designed(names.design).to_string()));
    }
    let over = match standing.over {
        Some(ExperimentEnd::BudgetSpent) => Some((
            Tone::Warn,
            "time ran out",
            ": the next block would not have fit; more blocks need a larger budget",
        )),
        Some(ExperimentEnd::BlocksMade)
            if lines.first().is_some_and(|line| line.to_string().contains("undecided")) =>
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
    lines.extend(over.map(|(tone, words, rest)| Line::plain("  ").and(tone, words).then(rest)));
    lines
}

/// How many starts in what time, and in what order.
fn spent(names: &Names<'_>, standing: &Standing) -> Line {
    let time = names.visits.iter().fold(Nanos::ZERO, |sum, visit| sum + visit.took);
    let time = Nanos::from_secs(time.as_secs_f64().round() as u64);
    let pilot = names.visits.iter().filter(|visit| visit.block == 0).count();
    let made = number_of(names.visits.len(), "start");
    let alone = if standing.blocks == 0 || pilot == 0 {
        String::new()
    } else {
        format!(", the first {pilot} of the plan as it stands")
    };
    let sure = names.design.confidence;
    Line::empty().and(Tone::Faint, "  time: ").then(format!(
        "{made}{alone}; {time}; seed {}; {sure} confidence in all answers together",
        names.design.seed
    ))
}

/// Where the time of a start goes, on average; nothing of runs that did not keep it.
fn a_start(names: &Names<'_>) -> Option<Line> {
    let visits: Vec<&Visit> = names.visits.iter().filter(|visit| visit.void.is_none()).collect();
    let count = u64::try_from(visits.len()).ok().filter(|count| *count > 0)?;
    let (mut sum, mut took, mut ready) = (Spent::default(), Nanos::ZERO, Nanos::ZERO);
    for visit in &visits {
        sum.add(&visit.spent);
        took += visit.took;
        ready += visit.started_in;
    }
    if sum == Spent::default() {
        return None;
    }
    let Spent { needs, reset, warm, load, again, drain, rest, stop } = sum;
    let parts = [
        (needs, "what it needs"),
        (ready, "until ready"),
        (reset, "reset"),
        (warm, "warm-up"),
        (load, "load"),
        (again, "load made again"),
        (drain, "drain"),
        (rest, "loops and watch"),
        (stop, "end"),
    ];
    let seconds = |time: Nanos| format!("{:.1} s", (time / count).as_secs_f64());
    let parts = parts.into_iter().filter(|(time, _)| *time / count >= SHOWN);
    let parts: Vec<String> = parts.map(|(time, what)| format!("{} {what}", seconds(time))).collect();
    let text = format!("{} on average: {}", seconds(took), parts.join(", "));
    Some(Line::empty().and(Tone::Faint, "  a start: ").then(text))
}

/// Every measurement is a run of its own. Of each arm the middle one is named.
fn kept(names: &Names<'_>) -> Vec<Line> {
    let count: usize = names.visits.iter().map(|visit| visit.taken.len()).sum();
    if count == 0 {
        return Vec::new();
    }
    let middle = |arm: usize| -> Option<(&str, &RunId)> {
        let visits: Vec<&Visit> = names.counting(arm).collect();
        let taken = &visits.get(visits.len() / 2)?.taken;
        Some((names.arm(arm), &taken.first()?.run))
    };
    let head = format!(
        "{}; torment explain RUN says of one what gave first, such as",
        number_of(count, "measurement")
    );
    let mut lines = vec![Line::empty().and(Tone::Faint, "  kept: ").then(head)];
    let each = (0..names.design.arms.len()).filter_map(middle);
    lines.extend(
        each.map(|(arm, run)| Line::plain(format!("        {run}")).and(Tone::Faint, format!("  {arm}"))),
    );
    lines
}

fn logs(id: &RunId) -> Line {
    Line::empty().and(Tone::Faint, "  logs: ").then(format!("torment show {id} --logs"))
}

/// How it goes on, if it was not brought to its end.
fn resume(view: &RunView, standing: &Standing) -> Option<Line> {
    let id = &view.started.as_ref()?.id;
    let cut = view.end.is_none() && !view.running || standing.over == Some(ExperimentEnd::Interrupted);
    cut.then(|| {
        Line::empty()
            .and(Tone::Faint, "  resume: ")
            .and(Tone::Strong, format!("torment try --resume {id}"))
            .then("; what is already measured is not measured again")
    })
}
