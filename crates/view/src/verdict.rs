//! What gave first, at a glance: the verdict, its evidence, and what to do. For all else see [`crate::explain`].

use crate::watched::amount;
use crate::wording::{format_rate, rounded};
use crate::{RunView, Text, Tone, freezes, hot_code, not_observable};
use record::{CapacityCheck, Cause, Confidence, Diagnosis, Evidence, NoFinding, Prediction};
use units::{Rate, Share};

/// Maximum evidence lines: facts, the chain and the arithmetic.
const EVIDENCE: usize = 4;

/// The verdict for the summary, followed by an empty line; empty if nothing was watched and nothing is wrong.
pub(crate) fn lines(view: &RunView) -> Vec<Text> {
    let mut lines = match &view.diagnosis {
        // torment's capacity, and what helps, are said above.
        Some(_) if view.is_generator_limited() => Vec::new(),
        Some(diagnosis) if !diagnosis.findings.is_empty() => found(view, diagnosis),
        Some(diagnosis) => why_no_cause(diagnosis).into_iter().chain(freezes::next_steps(view)).collect(),
        None => freezes::next_steps(view),
    };
    for place in view.places.iter().filter(|place| !place.coverage.has_processes()) {
        // Besides other places, only a database is queried from here.
        if place.name.is_empty() && !view.is_only_place(place) {
            continue;
        }
        // The reason is given instead.
        if let Some(why) = not_observable(&place.coverage).into_iter().next() {
            lines
                .retain(|_| view.diagnosis.as_ref().is_none_or(|d| d.none != Some(NoFinding::NotObservable)));
            lines.push(why);
        }
    }
    for place in &view.places {
        let Some(lost) = &place.coverage.lost else { continue };
        if !lines.iter().any(|line| line.to_string().contains(&lost.to_string())) {
            let text = format!("watcher lost{}: ", place.place_suffix());
            lines.push(Text::new(Tone::Warn, text).with_plain(format!("nothing is known {lost}")));
        }
    }
    let id = view.started.as_ref().map_or("last", |started| started.id.0.as_str());
    if view.diagnosis.as_ref().is_some_and(|diagnosis| !diagnosis.findings.is_empty()) {
        lines.push(Text::new(Tone::Faint, format!("details: torment explain {id}")));
    }
    if !lines.is_empty() {
        lines.push(Text::empty());
    }
    lines
}

fn found(view: &RunView, diagnosis: &Diagnosis) -> Vec<Text> {
    let beside = freezes::unknown_cause_line(view);
    // What did not set the limit is not on its path.
    let is_way = beside.is_none() && diagnosis.chain.len() > 1;
    let mut lines: Vec<Text> = beside.into_iter().chain(sentences(diagnosis)).collect();
    let verdict = &diagnosis.findings[0];
    let rest: Vec<Text> = is_way
        .then(|| chain(diagnosis))
        .into_iter()
        .chain(unstated_arithmetic(diagnosis).map(|found| arithmetic(view, found)))
        .collect();
    let facts = verdict.evidence.iter().take(EVIDENCE - rest.len());
    lines.extend(facts.map(|fact| evidence(fact, diagnosis)));
    lines.extend(rest);
    lines.push(confidence(diagnosis));
    lines.extend(hot_code::line(view));
    let steps = freezes::next_steps(view);
    if steps.is_empty() {
        let next = diagnosis.next.first();
        lines.extend(next.map(|next| Text::new(Tone::Faint, "next: ").with_span(Tone::Strong, next)));
        lines.push(expected_gain(view, diagnosis));
    }
    lines.extend(steps);
    lines
}

/// The change's expected gain; if it cannot be computed, how to measure it.
pub(crate) fn expected_gain(view: &RunView, diagnosis: &Diagnosis) -> Text {
    diagnosis.prediction.as_ref().map_or_else(|| how_to_measure(view), |found| prediction(view, found))
}

/// How to measure the effect of a change that cannot be computed.
pub(crate) fn how_to_measure(view: &RunView) -> Text {
    let Some(started) = &view.started else { return Text::empty() };
    let run = started.label.name.as_ref().unwrap_or(&started.id.0);
    let text =
        format!("no estimate; to measure it, repeat with --name after, then: torment compare {run} after");
    Text::labelled("expect", text)
}

/// The arithmetic, if it agrees with the measurement (earlier versions also stored it if not) and no sentence states it.
pub(crate) fn unstated_arithmetic(diagnosis: &Diagnosis) -> Option<&CapacityCheck> {
    let is_said = |arithmetic: &CapacityCheck| {
        diagnosis.sentences.iter().any(|sentence| sentence.contains(&arithmetic.formula))
    };
    diagnosis.arithmetic.as_ref().filter(|arithmetic| arithmetic.agrees() && !is_said(arithmetic))
}

/// The arithmetic behind what gave first: ` 10 permits / 50 ms held per request = 201/s.` Beside a limit of another value it names what it
/// is about.
pub(crate) fn arithmetic_words(view: &RunView, diagnosis: &Diagnosis) -> Option<String> {
    let found = diagnosis.arithmetic.as_ref().filter(|found| found.agrees())?;
    let CapacityCheck { formula, ceiling, .. } = found;
    Some(match limit_word(view, found) {
        Some(limit) => format!(" {formula} = {ceiling}: that is {limit}."),
        None => format!(" {formula} = {ceiling}: that is about what it answered in overloads."),
    })
}

/// What the ceiling is said to be, given what was measured and what holds; `None` if that is something else.
fn limit_word(view: &RunView, found: &CapacityCheck) -> Option<&'static str> {
    let held = view.held().map(|held| CapacityCheck { measured: Rate(held), ..found.clone() });
    match &held {
        Some(held) if found.differs_from(held.measured) => None,
        Some(held) if !held.is_near() => Some("about the limit"),
        _ if !found.is_near() => Some("about the limit"),
        _ => Some("the limit"),
    }
}

/// Sentences that state the arithmetic.
pub(crate) fn arithmetic_sentences(diagnosis: &Diagnosis) -> impl Iterator<Item = Text> {
    let formula = diagnosis.arithmetic.as_ref().map(|found| &found.formula);
    let is_it =
        move |text: &Text| formula.is_some_and(|formula| text.to_string().starts_with(formula.as_str()));
    sentences(diagnosis).into_iter().filter(is_it)
}

/// The result; the first sentence is highlighted.
pub(crate) fn sentences(diagnosis: &Diagnosis) -> Vec<Text> {
    let said = &diagnosis.sentences;
    let own: Vec<&String> = match said.is_empty() {
        false => said.iter().collect(),
        true => diagnosis.findings.iter().take(1).map(|finding| &finding.sentence).collect(),
    };
    let mut lines: Vec<Text> = Vec::new();
    for (index, sentence) in own.into_iter().enumerate() {
        let tone = if index == 0 { Tone::Strong } else { Tone::Plain };
        lines.push(Text::new(tone, sentence));
    }
    if diagnosis.tie
        && let Some(other) = diagnosis.findings.get(1)
        && !said.contains(&other.sentence)
    {
        lines.push(Text::new(Tone::Warn, "or, as likely: ").with_plain(&other.sentence));
    }
    lines
}

/// Why no cause is named, in one line.
pub(crate) fn why_no_cause(diagnosis: &Diagnosis) -> Option<Text> {
    let (tone, words, usual) = match diagnosis.none? {
        // Degraded on the way, and well at a higher load.
        NoFinding::NotSaturated if diagnosis.degraded_at.is_some() => {
            (Tone::Strong, "not saturated", "the target held the highest load allowed")
        }
        NoFinding::NotSaturated => {
            let up_to = diagnosis.well_at.map(|rate| format!(", up to {rate}")).unwrap_or_default();
            let text = format!(": no rate offered was too much for the target{up_to}");
            return Some(Text::new(Tone::Strong, "not saturated").with_plain(text));
        }
        NoFinding::Unexplained => {
            (Tone::Warn, "unexplained", "the target was degraded, and nothing that was watched explains it")
        }
        NoFinding::NotObservable => {
            (Tone::Warn, "not observable", "the target was degraded, and it could not be watched")
        }
        NoFinding::NothingMeasured => return None,
    };
    let reason = diagnosis.sentences.join(" ");
    // The preceding text already has it.
    let reason = reason.trim_start_matches("Nothing gave: ").to_owned();
    let reason = if reason.is_empty() { usual.to_owned() } else { reason };
    Some(Text::new(tone, words).with_plain(format!(": {reason}")))
}

/// A fact, beside its value where the target was well.
pub(crate) fn evidence(fact: &Evidence, diagnosis: &Diagnosis) -> Text {
    let line = Text::empty_at_depth(1).with_plain(&fact.text);
    let Some(well) = fact.well else { return line };
    let at = match (diagnosis.well_at, diagnosis.degraded_at) {
        // One load, at first well.
        (Some(Rate(well)), Some(Rate(degraded))) if (well / degraded - 1.0).abs() < 0.003 => {
            "before".to_owned()
        }
        (Some(rate), _) => format!("at {rate}"),
        (None, _) => "where all was well".to_owned(),
    };
    line.with_span(Tone::Faint, format!("   ({} {at})", amount(well, &fact.unit)))
}

/// From the request to what waits for nothing else.
pub(crate) fn chain(diagnosis: &Diagnosis) -> Text {
    Text::empty_at_depth(1).with_plain(diagnosis.chain.join(" → "))
}

/// Whether the verdict explains the measured capacity.
pub(crate) fn arithmetic(view: &RunView, arithmetic: &CapacityCheck) -> Text {
    let CapacityCheck { formula, ceiling, measured } = arithmetic;
    let line = Text::empty_at_depth(1).with_plain(format!("{formula} = {} a second", format_rate(ceiling.0)));
    match limit_word(view, arithmetic) {
        Some(limit) => line
            .with_span(Tone::Good, format!(": that is {limit}"))
            .with_plain(format!("; measured: {}", format_rate(measured.0))),
        None => line.with_plain(format!(
            ": that is about what it answered in overloads ({})",
            format_rate(measured.0)
        )),
    }
}

pub(crate) fn confidence(diagnosis: &Diagnosis) -> Text {
    let (cause, confidence) =
        diagnosis.findings.first().map(|finding| (finding.cause, finding.confidence)).unzip();
    let confidence = confidence.unwrap_or_default();
    let tone = match confidence.word() {
        "high" => Tone::Good,
        "medium" => Tone::Plain,
        _ => Tone::Warn,
    };
    let mut line = Text::new(Tone::Faint, "confidence: ").with_span(tone, confidence.word());
    if let Some(why) = lacking(cause, confidence) {
        line = line.with_plain(format!(", because {why}"));
    }
    match diagnosis.unless.first() {
        Some(unless) => line.with_span(Tone::Faint, "; wrong if ").with_plain(unless),
        None => line,
    }
}

const CLOSE: &str = "it is close to its threshold: a higher rate would tell";

/// What a less than high confidence lacks most, and what would help.
fn lacking(cause: Option<Cause>, confidence: Confidence) -> Option<String> {
    let Confidence { margin, persistence, independence, coverage } = confidence;
    let (shown, seen) = (Share(persistence).rounded(2), Share(coverage).rounded(2));
    let (close, sources) = match cause {
        Some(Cause::Freeze) => (
            "the good trials next to the limit froze about as often as the bad ones",
            "nothing that was watched explains the freezes",
        ),
        // Neither option tells more of a Java machine.
        Some(Cause::Gc | Cause::Safepoint | Cause::ColdJit) => (CLOSE, "few independent sources say so"),
        _ => (CLOSE, "few independent sources say so (--postgres and --metrics add more)"),
    };
    let mut reasons = [
        (
            persistence,
            format!("it shows in only {shown} of the degraded seconds (a longer --trial has more of them)"),
        ),
        (independence, sources.to_owned()),
        (coverage, format!("only {seen} of the samples of its threads succeeded")),
        (margin, close.to_owned()),
    ];
    // Of equally weak factors name the first: whether freezes are the limit matters more than their cause.
    if cause == Some(Cause::Freeze) {
        reasons.rotate_right(1);
    }
    let least = reasons.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    least.filter(|_| confidence.word() != "high").map(|(_, why)| why)
}

/// A factor without trailing zeros.
pub(crate) fn factor(times: f64) -> String {
    let text = format!("{times:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// What the target holds, in the long run if that is known, and the words for it.
fn held_now(view: &RunView) -> Option<(f64, &'static str)> {
    let longer = freezes::sustained_rate(view).map(|rate| (rate.0, "held in the long run"));
    longer.or(view.held().map(|held| (held, "held")))
}

/// The limit after a change; none: unchanged.
pub(crate) fn expected_capacity(view: &RunView, prediction: &Prediction) -> Option<Rate> {
    let scale = held_now(view).zip(prediction.from).map_or(1.0, |((held, _), from)| held / from.0);
    prediction.capacity.map(|capacity| Rate(capacity.0 * scale))
}

/// A change's expected gain: the limit found, scaled by the ratio of the new capacity to what was answered.
pub(crate) fn prediction(view: &RunView, prediction: &Prediction) -> Text {
    let Prediction { change, capacity, from, then } = prediction;
    let gives = match (capacity, expected_capacity(view, prediction)) {
        // With its basis, so that readers can judge it.
        (Some(capacity), Some(expected)) => {
            match held_now(view).or(from.map(|from| (from.0, "answered"))).zip(*from) {
                Some(((base, word), from)) => format!(
                    "about {} ({} × {} {word})",
                    rounded(expected),
                    factor(capacity.0 / from.0),
                    format_rate(base)
                ),
                None => format!("about {}", rounded(expected)),
            }
        }
        _ => "no more than now".to_owned(),
    };
    let then = if then.is_empty() { String::new() } else { format!("; {then}") };
    Text::new(Tone::Faint, "expect: ").with_plain(format!("{change}: {gives}{then}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Limit, LimitUnit};

    fn limit(held: f64) -> Limit {
        Limit {
            goal: "nine-of-ten".to_owned(),
            held: Some(held),
            lower: Some(held * 0.95),
            upper: Some(held * 1.05),
            unit: LimitUnit::Requests,
            regular: true,
            good_trials: 2,
            bad_trials: 3,
            lower_due: 400_900,
            lower_bad: 0,
            throughput: None,
        }
    }

    #[test]
    fn what_a_change_gives_is_scaled_to_what_was_held() {
        let to = |capacity: Option<f64>, from: Option<f64>| {
            let (change, then) = (String::new(), String::new());
            Prediction { change, capacity: capacity.map(Rate), from: from.map(Rate), then }
        };
        let view = RunView { limits: vec![limit(390.0)], ..RunView::default() };
        assert_eq!(expected_capacity(&view, &to(Some(824.0), Some(412.0))), Some(Rate(780.0)));
        assert_eq!(expected_capacity(&view, &to(Some(824.0), None)), Some(Rate(824.0)));
        assert_eq!(expected_capacity(&view, &to(None, None)), None);
    }

    /// RabbitMQ held 705/s, and beside that stood "489/s: that is about the limit", which it did in overloads.
    #[test]
    fn what_holds_less_than_was_held_is_no_limit() {
        let found = CapacityCheck {
            formula: "1 processor / 2 ms per request".to_owned(),
            ceiling: Rate(489.0),
            measured: Rate(456.0),
        };
        let held = |held: f64| RunView { limits: vec![limit(held)], ..RunView::default() };
        let said = |view: &RunView| arithmetic(view, &found).to_string();
        let formula = "1 processor / 2 ms per request = 489 a second: that is about";
        for other in [705.0, 300.0] {
            let overloads = format!("{formula} what it answered in overloads (456)");
            assert_eq!(said(&held(other)).trim(), overloads, "{other}");
        }
        assert_eq!(said(&held(450.0)).trim(), format!("{formula} the limit; measured: 456"));
        assert_eq!(said(&RunView::default()).trim(), format!("{formula} the limit; measured: 456"));
    }

    /// A service that answers 20,750/s in an overload holds 19,590/s, and readers expect twice as much of that.
    #[test]
    fn twice_the_capacity_is_twice_the_limit() {
        let mut view = RunView::default();
        let mut found = Prediction {
            change: "twice the processors".to_owned(),
            capacity: Some(Rate(41_500.0)),
            from: Some(Rate(20_750.0)),
            then: String::new(),
        };
        let said = |view: &RunView, found: &Prediction| prediction(view, found).to_string();
        assert_eq!(said(&view, &found), "expect: twice the processors: about 41,500/s (2 × 20,750 answered)");
        view.limits = vec![limit(19_590.0)];
        assert_eq!(said(&view, &found), "expect: twice the processors: about 39,200/s (2 × 19,590 held)");
        found.from = None;
        assert_eq!(
            said(&view, &found),
            "expect: twice the processors: about 41,500/s",
            "of earlier versions"
        );
    }

    /// A verdict of garbage collection was "medium, because few independent sources say so (--postgres and --metrics
    /// add more)".
    #[test]
    fn of_a_java_machine_no_database_tells_more() {
        let few = Confidence { margin: 1.0, persistence: 1.0, independence: 0.6, coverage: 1.0 };
        let why = |cause| lacking(Some(cause), few).expect("its confidence is medium");
        for cause in [Cause::Gc, Cause::Safepoint, Cause::ColdJit] {
            assert_eq!(why(cause), "few independent sources say so", "{cause:?}");
        }
        assert_eq!(why(Cause::Pool), "few independent sources say so (--postgres and --metrics add more)");
    }
}
