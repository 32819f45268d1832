use crate::compare::{format_change, limit_difference, limit_figure};
use crate::experiment::{answer_word, percent};
use crate::figure_tables::range_words;
use crate::summary::{between, half_as_fast, holds, open_limit_words, tone};
use crate::values::{count, micros, rate_value};
use crate::verdict::factor as times;
use crate::wording::{format_rate, shortened};
use crate::{ArrivalKind, Difference, Grid, Significance, Text, Tone};
use record::{ArmAnswer, HypothesisAnswer, RampEnd, RunKind, SearchEnd, Verdict};
use serde_json::{Value, json};
use store::{AnswerCounts, FreezeSummary, LoadOutcome, PreviousLimit, RunState, RunSummary};
use units::{Share, grouped};

/// A run's result, and its difference from the previous run.
type RunCells = ((String, Tone), Option<(String, Tone)>);

/// The stored runs, one line each, in the given order. If too wide, drops first the limits' intervals and the results of loads, then the
/// differences from previous runs.
pub fn list_lines(runs: &[RunSummary], max_width: Option<usize>) -> Vec<Text> {
    if runs.is_empty() {
        return vec![Text::plain(
            "  no run is kept yet; make one with torment find, torment run or torment try",
        )];
    }
    let width =
        |text: fn(&RunSummary) -> &str| runs.iter().map(|r| text(r).chars().count()).max().unwrap_or(0);
    let (ids, targets) = (width(|r| &r.id.0), width(|r| &r.target).min(40));
    let commands = width(|r| &r.command).max(4);
    let names = width(|r| r.label.name.as_deref().unwrap_or_default());
    let letters = |(text, _): &(String, Tone)| text.chars().count();
    let rows = |whole, before| -> Vec<RunCells> {
        let against = |run| if before { limit_change(run) } else { None };
        runs.iter().map(|run| (outcome_cell(run, whole), against(run))).collect()
    };
    // Only what precedes a difference must leave its column free.
    let column = |rows: &[RunCells]| {
        let with = rows.iter().filter(|(_, differs)| differs.is_some());
        with.map(|(outcome, _)| letters(outcome)).max().unwrap_or(0)
    };
    let mut layouts =
        [(true, true), (false, true), (false, false)].map(|(whole, before)| rows(whole, before));
    let shortest = &layouts[2];
    let fits = |rows: &Vec<RunCells>| {
        let name = if names > 0 { names + 2 } else { 0 };
        let left = 2 + ids + name + 2 + commands + 2 + targets + 2;
        let known = column(rows);
        // The others would be as long.
        let long = rows.iter().zip(shortest).filter(|(one, shortest)| one != shortest);
        let right = long.map(|((outcome, differs), _)| match differs {
            Some(differs) => known + 2 + letters(differs),
            None => letters(outcome),
        });
        max_width.is_none_or(|max_width| left + right.max().unwrap_or(0) <= max_width)
    };
    let nth = layouts.iter().position(fits).unwrap_or(2);
    let rows = std::mem::take(&mut layouts[nth]);
    let known = column(&rows);
    let line = |(run, ((text, tone), differs)): (&RunSummary, RunCells)| {
        let target = shortened(&run.target, targets);
        let name = run.label.name.as_deref().unwrap_or_default();
        let name = if names > 0 { format!("  {name:names$}") } else { String::new() };
        let tags = run.label.tags.iter().map(|tag| format!("  {tag}")).collect::<String>();
        let line = Text::plain("  ")
            .with_span(Tone::Strong, format!("{:ids$}{name}", run.id.0))
            .with_plain(format!("  {:commands$}  {target:targets$}  ", run.command));
        match differs {
            Some((words, how)) => {
                line.with_span(tone, format!("{text:known$}")).with_plain("  ").with_span(how, words)
            }
            None => line.with_span(tone, text),
        }
        .with_span(Tone::Faint, tags)
    };
    runs.iter().zip(rows).map(line).collect()
}

/// How a run's limit differs from the previous run's.
fn difference(run: &RunSummary) -> Option<(&PreviousLimit, Difference)> {
    let before = run.previous_limit.as_ref()?;
    let first = limit_figure(before.held, Some(before.lower), Some(before.upper))?;
    let upper = run.upper.filter(|_| !is_at_least(run));
    Some((before, limit_difference(first, limit_figure(run.held, run.lower, upper)?)?))
}

/// The change of a run's limit since the previous run: `−8 %, sure`, `+2 %, could be noise`. Only significant changes are highlighted.
pub fn limit_change(run: &RunSummary) -> Option<(String, Tone)> {
    let (_, Difference { by, significance: standing, .. }) = difference(run)?;
    let (means, tone) = match standing {
        Significance::Better | Significance::Worse => ("significant", standing.tone()),
        Significance::Same => ("within noise", Tone::Faint),
        Significance::Undecided => ("could be noise", Tone::Faint),
        Significance::Unknown => return None,
    };
    Some((format!("{}, {means}", format_change(by)), tone))
}

/// `2 better, 1 no difference, 1 undecided`; harm is highlighted first, then benefit.
fn answer_counts(answers: AnswerCounts) -> (String, Tone) {
    let AnswerCounts { better, worse, no_difference, undecided, not_measured } = answers;
    let words = [
        (better, "better"),
        (worse, "worse"),
        (no_difference, "no difference"),
        (undecided, "undecided"),
        (not_measured, "not measured"),
    ];
    let said = words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let tone = match answers {
        AnswerCounts { worse: 1.., .. } => Tone::Bad,
        AnswerCounts { better: 1.., .. } => Tone::Good,
        AnswerCounts { undecided: 1.., .. } | AnswerCounts { not_measured: 1.., .. } => Tone::Warn,
        _ => Tone::Plain,
    };
    (said.collect::<Vec<_>>().join(", "), tone)
}

/// `more threads: better by 38 %, larger pool: no difference`.
fn arm_answers(arms: &[ArmAnswer]) -> String {
    let said = arms.iter().map(|ArmAnswer { arm, answer, factor }| {
        let by = factor.filter(|_| matches!(answer, HypothesisAnswer::Better | HypothesisAnswer::Worse)).map(
            |factor| match (factor - 1.0).abs() {
                _ if factor >= MIN_FACTOR => format!(", ×{}", times(factor)),
                by => format!(" by {}", percent((by * 100.0).round() / 100.0)),
            },
        );
        format!("{arm}: {}{}", answer_word(*answer).0, by.unwrap_or_default())
    });
    said.collect::<Vec<_>>().join("; ")
}

/// From this ratio on a factor reads better than percent.
const MIN_FACTOR: f64 = 1.95;

/// A run's result, in a few words.
pub fn result_words(run: &RunSummary) -> (String, Tone) {
    outcome_cell(run, true)
}

/// If `whole`, with its limit's interval, what a load carried, and all that a probe measured.
fn outcome_cell(run: &RunSummary, whole: bool) -> (String, Tone) {
    let known = || run.answers.map_or_else(|| limit(run, "", whole), |answers| answer_counts(answers).0);
    let so_far = |word: &str| match known() {
        known if known.is_empty() => word.to_owned(),
        known => format!("{word}; {known}"),
    };
    match run.state {
        RunState::Running => return (so_far("still running"), Tone::Strong),
        RunState::CutShort => return (so_far("cut short"), Tone::Bad),
        RunState::Ended => {}
    }
    if let Some(error) = &run.error {
        return (shortened(error, 60), Tone::Bad);
    }
    if let Some(answers) = run.answers {
        let (counts, tone) = answer_counts(answers);
        let words = if whole && !run.arms.is_empty() { arm_answers(&run.arms) } else { counts };
        return match run.experiment_end.as_deref() {
            Some("interrupted") => (format!("{words} (interrupted)"), Tone::Warn),
            Some("budget-spent") => (format!("{words} (time ran out)"), tone),
            _ => (words, tone),
        };
    }
    if let Some(verdict) = &run.verdict {
        return machine(run, verdict, whole);
    }
    let carried = run
        .load_outcome
        .filter(|_| whole)
        .map(|told| format!(": {}", carried_words(run, told)))
        .unwrap_or_default();
    match (ended(run), run.goal_met) {
        (Some(ended), _) => (limit(run, end_word(&ended), whole), tone(&ended, has_recurring_freezes(run))),
        (None, Some(true)) => match run.freezes {
            // A green result must not hide what the goal does not ask for.
            Some(still) => {
                (format!("goal met ({}){carried}, but {}", run.goal, freeze_words(still)), Tone::Warn)
            }
            None => (format!("goal met ({}){carried}", run.goal), Tone::Good),
        },
        (None, Some(false)) => {
            let lost = run.loss.map(|l| format!(", lost {}", Share(l))).unwrap_or_default();
            let still = run.freezes.map(|still| format!(", {}", freeze_words(still))).unwrap_or_default();
            (format!("goal not met ({}){carried}{lost}{still}", run.goal), Tone::Bad)
        }
        (None, None) if run.loss.is_some() => ("not trustworthy".to_owned(), Tone::Warn),
        (None, None) => {
            (run.exit_code.map_or_else(String::new, |code| format!("exit code {code}")), Tone::Faint)
        }
    }
}

/// `1,500/s, p99 790 µs`; `99 of 196/s answered, p99 2.5 s` if the target did not keep up.
fn carried_words(run: &RunSummary, LoadOutcome { offered, answered, response_p99 }: LoadOutcome) -> String {
    let p99 = response_p99.map(|p99| format!(", p99 {p99}")).unwrap_or_default();
    if answered.0 > offered.0 * KEEPS_UP_SHARE {
        return format!("{offered}{p99}");
    }
    let done = match ArrivalKind::from_run_kind(&RunKind::from(run.command.clone())) {
        ArrivalKind::Processes => "ended",
        ArrivalKind::Requests | ArrivalKind::Connections => "answered",
    };
    format!("{} of {offered} {done}{p99}", format_rate(answered.0))
}

/// From this share of arrivals answered on the target keeps up: what is in flight at the end is not late.
const KEEPS_UP_SHARE: f64 = 0.98;

/// What a search knows of its limit, so far or in the end, in its summary's words; in brackets why it is not known better.
fn limit(run: &RunSummary, why: &str, whole: bool) -> String {
    let unit = run.unit.as_deref().unwrap_or("requests/s");
    let (words, between) = match (run.lower, run.upper) {
        (Some(lower), upper) => {
            let verb = ended(run).map_or("holds", |ended| holds(&ended, run.held, Some(lower), upper));
            let between = between(ended(run).as_ref(), Some(lower), upper).filter(|_| whole);
            // A row does not tell which trials froze.
            let generator_limited = run.freezes.is_none().then_some(true);
            let open =
                ended(run).and_then(|ended| open_limit_words(&ended, Some(lower), upper, generator_limited));
            let open = open.map(|open| format!(": {open}")).unwrap_or_default();
            let more = if ended(run).is_none() && upper.is_none() { ", perhaps more" } else { "" };
            let in_trials =
                if has_recurring_freezes(run) && !is_at_least(run) { " in its trials" } else { "" };
            (
                format!("{verb} {} {unit}{in_trials}{open}{more}", format_rate(run.held.unwrap_or(lower))),
                between.unwrap_or_default(),
            )
        }
        (None, Some(upper)) => (format!("fails at {} {unit}", format_rate(upper)), String::new()),
        (None, None) => return why.to_owned(),
    };
    let still = run.freezes.filter(|_| has_recurring_freezes(run)).map(freeze_words).unwrap_or_default();
    let brackets = [between.as_str(), why, still.as_str()];
    let brackets = brackets.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>();
    if brackets.is_empty() { words } else { format!("{words} ({})", brackets.join("; ")) }
}

/// Whether the target froze more than once: over many trials once is a hiccup.
fn has_recurring_freezes(run: &RunSummary) -> bool {
    run.freezes.is_some_and(|still| still.count > 1)
}

/// `the target froze 7 times, up to 900 ms`.
fn freeze_words(still: FreezeSummary) -> String {
    let FreezeSummary { count: times, longest } = still;
    let most = if times == 1 { " for" } else { ", up to" };
    format!(
        "the target {}{most} {}",
        diagnosis::format_times(times as usize),
        diagnosis::rounded_length(longest)
    )
}

fn ended(run: &RunSummary) -> Option<SearchEnd> {
    run.search_ended.as_ref().and_then(|word| serde_json::from_value(json!(word)).ok())
}

/// Whether a finished search found no limit: its rate is a lower bound.
pub fn is_at_least(run: &RunSummary) -> bool {
    ended(run).is_some_and(|ended| ended.is_at_least())
}

/// Why a limit is unknown, or imprecise.
fn end_word(ended: &SearchEnd) -> &'static str {
    match ended {
        SearchEnd::Converged | SearchEnd::MaxReached | SearchEnd::GeneratorLimit | SearchEnd::FleetFailed => {
            ""
        }
        SearchEnd::BelowMin => "the lowest tried",
        SearchEnd::BudgetSpent => "time ran out",
        SearchEnd::Noisy => "its capacity varies",
        SearchEnd::NonStationary => "the target kept changing",
        SearchEnd::NotRecovered => "did not recover",
        SearchEnd::Interrupted => "interrupted",
        SearchEnd::TargetFails => "the target fails from the first on",
    }
}

/// The result of a run that measured the machine: figures alone are neither good nor bad.
fn machine(run: &RunSummary, verdict: &Verdict, whole: bool) -> (String, Tone) {
    match verdict {
        Verdict::Sheet { figures, doubtful, cut_short } => {
            let costs = &run.costs[..if whole { run.costs.len() } else { run.costs.len().min(1) }];
            let said = match costs {
                [] => format!("{figures} figures"),
                costs => costs.iter().map(range_words).collect::<Vec<_>>().join("; "),
            };
            let doubtful = match doubtful {
                0 => String::new(),
                doubtful => format!(", {doubtful} of {figures} figures with caveats"),
            };
            let short = if *cut_short { ", interrupted" } else { "" };
            let tone = if *cut_short || !doubtful.is_empty() { Tone::Warn } else { Tone::Strong };
            (format!("{said}{doubtful}{short}"), tone)
        }
        Verdict::Profiled { most: Some((name, share)), .. } => {
            (format!("{:.0} % in {name}", share * 100.0), Tone::Strong)
        }
        Verdict::Profiled { .. } => ("nothing ran".to_owned(), Tone::Warn),
        Verdict::Tasks { reached, gave, .. } => {
            let (why, tone) = match gave {
                RampEnd::Limit { room, .. } => (format!(", then {} gave", room.name), Tone::Strong),
                RampEnd::Killed { .. } => (", then memory gave".to_owned(), Tone::Strong),
                RampEnd::Reserve { .. } => (" and no limit gave".to_owned(), Tone::Strong),
                RampEnd::Asked => (", as many as asked for".to_owned(), Tone::Strong),
                RampEnd::Interrupted => (", interrupted".to_owned(), Tone::Warn),
                RampEnd::Unknown { .. } => (", then something unknown gave".to_owned(), Tone::Warn),
            };
            (format!("{} threads{why}", grouped(*reached)), tone)
        }
        Verdict::WorkingSet { half_measured: Some(half), .. } => (half_as_fast(*half), Tone::Strong),
        Verdict::WorkingSet { .. } => ("no cliff found".to_owned(), Tone::Warn),
        Verdict::Limits { .. } | Verdict::Answers { .. } | Verdict::Goal { .. } => {
            (String::new(), Tone::Plain)
        }
    }
}

/// A run's state, for JSON.
fn state(run: &RunSummary) -> &'static str {
    match run.state {
        RunState::Ended => "ended",
        RunState::Running => "running",
        RunState::CutShort => "cut_short",
    }
}

/// The columns of [`list_grid`]: keys of [`run_value`], and three columns about the previous run.
const COLUMNS: &str = "id name tags state started_unix_ms command target goal outcome lower upper unit goal_met loss \
                       exit_code host cpus commit version held alike before factor standing";

/// The stored runs, one row each.
pub fn list_grid(runs: &[RunSummary]) -> Grid {
    let mut grid = Grid::with_columns(COLUMNS);
    for run in runs {
        let json = run_value(run);
        let cell = |name: &str| match name {
            "tags" => json!(run.label.tags.join(" ")),
            "outcome" => json!(result_words(run).0),
            "before" => json["before"]["id"].clone(),
            "factor" | "standing" => json["before"][name].clone(),
            name => json[name].clone(),
        };
        grid.push_row(COLUMNS.split(' ').map(cell).collect());
    }
    grid
}

/// The previous run, and how this one's limit differs; null if there is none.
fn before_json(run: &RunSummary) -> Value {
    let Some((before, difference)) = difference(run) else { return Value::Null };
    let mut json = difference.json("factor");
    json["id"] = json!(before.id);
    json
}

/// The stored runs as JSON.
pub fn list_json(runs: &[RunSummary]) -> Value {
    json!({ "schema": record::SCHEMA, "runs": runs.iter().map(run_value).collect::<Vec<_>>() })
}

fn run_value(run: &RunSummary) -> Value {
    json!({
        "id": run.id,
        "state": state(run),
        "started_unix_ms": run.started_unix_ms,
        "ended_unix_ms": run.ended_unix_ms,
        "command": run.command,
        "target": run.target,
        "goal": run.goal,
        "version": run.version,
        "name": run.label.name,
        "tags": run.label.tags,
        "commit": run.label.commit,
        "host": run.host,
        "processor": run.processor,
        "cpus": run.cpus,
        "method": run.method,
        "exit_code": run.exit_code,
        "error": run.error,
        "limit_goal": run.limit_goal,
        "held": run.held.map(rate_value),
        "lower": run.lower.map(rate_value),
        "upper": run.upper.map(rate_value),
        "unit": run.unit,
        "ended": run.search_ended,
        "goal_met": run.goal_met,
        "loss": run.loss.map(count),
        "stood_still": run.freezes.map(|still| json!({
            "times": still.count,
            "longest_seconds": still.longest.as_secs_f64(),
        })),
        "load": run.load_outcome.map(|carried| json!({
            "offered_per_second": rate_value(carried.offered.0),
            "answered_per_second": rate_value(carried.answered.0),
            "response_p99_us": carried.response_p99.map(micros),
        })),
        "part_of": run.part_of,
        "answers": run.answers.map(|answers| json!({
            "better": answers.better,
            "worse": answers.worse,
            "no_difference": answers.no_difference,
            "undecided": answers.undecided,
            "not_measured": answers.not_measured,
        })),
        "arms": run.arms.iter().map(|arm| json!({
            "arm": arm.arm,
            "answer": arm.answer,
            "factor": arm.factor.map(count),
        })).collect::<Vec<_>>(),
        "over": run.experiment_end,
        "verdict": run.verdict,
        "alike": run.comparable_key,
        "before": before_json(run),
    })
}
