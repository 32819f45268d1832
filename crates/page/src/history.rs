//! The stored runs, one line each.

use crate::http_error::HttpError;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use store::{Filter, RunState, RunSummary, Store};
use units::Moment;
use view::document::PageState;

/// Default number of lines: more than anybody reads, and read in a moment.
const LINES: u32 = 1_000;

/// The requested runs, newest first: `target` and `machine` (a part of it), `command`, `name`, `tag`, `verdict`,
/// `since`, `until`, `limit`.
pub(crate) fn history(store: &Store, query: &HashMap<String, String>) -> Result<Value, HttpError> {
    let parameter = |name: &str| query.get(name).filter(|text| !text.is_empty()).cloned();
    let limit = match parameter("limit") {
        None => LINES,
        Some(text) => text.parse().map_err(|_| {
            HttpError::bad_request(format!("limit: '{text}' is not a number of runs, a whole number from 0"))
        })?,
    };
    let moment = |name: &str| {
        let read = |text: String| {
            Moment::parse(&text, sys::now()).map_err(|why| HttpError::bad_request(format!("{name}: {why}")))
        };
        parameter(name).map(read).transpose().map(|moment| moment.map(Moment::unix_ms))
    };
    let verdict =
        |text: String| text.parse().map_err(|why| HttpError::bad_request(format!("verdict: {why}")));
    let filter = Filter {
        command: parameter("command"),
        target: parameter("target"),
        machine: parameter("machine"),
        name: parameter("name"),
        tags: parameter("tag").into_iter().collect(),
        status: parameter("verdict").map(verdict).transpose()?,
        since_unix_ms: moment("since")?,
        until_unix_ms: moment("until")?,
        limit: Some(limit),
        ..Filter::default()
    };
    let runs = store.list(&filter)?;
    let plans = store.plans()?;
    // Runs that are alike share one plan: it is sent once.
    let run_plans: BTreeMap<i64, &String> = runs
        .iter()
        .filter_map(|run| run.comparable_key.and_then(|alike| Some((alike, plans.get(&alike)?))))
        .collect();
    Ok(json!({ "runs": runs.iter().map(run_json).collect::<Vec<_>>(), "plans": run_plans }))
}

fn run_json(run: &RunSummary) -> Value {
    let (verdict, tone) = view::result_words(run);
    json!({
        "id": run.id,
        "name": run.label.name,
        "tags": run.label.tags,
        "commit": run.label.commit,
        "command": run.command,
        "target": run.target,
        "machine": machine(run),
        "goal": run.goal,
        "verdict": verdict,
        "verdict_tone": tone,
        "state": state(run.state),
        "started_unix_ms": run.started_unix_ms,
        "ended_unix_ms": run.ended_unix_ms,
        "limit": limit(run),
        "alike": run.comparable_key,
        "before": before(run),
    })
}

/// What a search knows of its limit, or knows so far; null if nothing.
fn limit(run: &RunSummary) -> Value {
    if run.lower.is_none() && run.upper.is_none() {
        return Value::Null;
    }
    // Where no upper bound was found, the end is unknown.
    let upper = run.upper.filter(|_| !view::is_at_least(run));
    json!({ "held": run.held, "lower": run.lower, "upper": upper, "unit": run.unit })
}

/// The previous run, and how this one differs from it; null if there is none.
fn before(run: &RunSummary) -> Value {
    let Some((before, (text, tone))) = run.previous_limit.as_ref().zip(view::limit_change(run)) else {
        return Value::Null;
    };
    json!({ "id": before.id, "text": text, "tone": tone })
}

/// The machine in one line, without what is unknown.
fn machine(run: &RunSummary) -> String {
    let cpus = run.cpus.map(|cpus| format!("{cpus} processor{}", if cpus == 1 { "" } else { "s" }));
    let parts = [run.host.clone(), cpus, run.processor.clone()];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// As the page says it.
pub(crate) fn state(state: RunState) -> PageState {
    match state {
        RunState::Ended => PageState::Ended,
        RunState::Running => PageState::Running,
        RunState::CutShort => PageState::CutShort,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use record::Event;
    use store::{FreezeSummary, PreviousLimit};
    use units::Nanos;

    fn started_event(id: &str, command: &str, target: &str) -> Event {
        serde_json::from_value(json!({
            "event": "run_started", "id": id, "at_unix_ms": 1, "version": "0.1.0", "method": record::METHOD,
            "command": command, "target": target, "goal": "zero-drop", "plan": "", "machine": record::Machine::default(),
        }))
        .expect("as the store has it")
    }

    pub(crate) fn run_summary() -> RunSummary {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("t.db")).expect("opens");
        store.begin(&started_event("a", "find", "http://a/")).expect("begins").finish().expect("is kept");
        store.list(&Filter::default()).expect("lists").remove(0)
    }

    #[test]
    fn what_is_asked_for_is_listed() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("t.db")).expect("opens");
        for (id, command, target) in
            [("a", "find", "http://x/"), ("b", "run", "http://<b>y/"), ("c", "run", "null")]
        {
            store.begin(&started_event(id, command, target)).expect("begins").finish().expect("is kept");
        }
        let ids = |parameters: &[(&str, &str)]| {
            let query =
                parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let found = history(&store, &query)?;
            let runs = found["runs"].as_array().expect("a list");
            Ok::<_, HttpError>(
                runs.iter().map(|run| run["id"].as_str().expect("a text").to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(ids(&[]).expect("all"), ["c", "b", "a"]);
        assert_eq!(ids(&[("target", "http"), ("command", "")]).expect("some"), ["b", "a"]);
        assert_eq!(ids(&[("command", "run"), ("limit", "1")]).expect("one"), ["c"]);
        let refused = ids(&[("limit", "-1")]).expect_err("no number");
        assert!(refused.why.contains("'-1' is not a number of runs"), "{refused:?}");
        assert_eq!(ids(&[("verdict", "running"), ("since", "1970-01-01")]).expect("all"), ["c", "b", "a"]);
        assert_eq!(ids(&[("verdict", "met")]).expect("none"), [""; 0]);
        assert_eq!(ids(&[("since", "2h")]).expect("none"), [""; 0]);
        assert_eq!(ids(&[("until", "1970-01-01")]).expect("none"), [""; 0]);
        for (name, text) in [("verdict", "good"), ("since", "yesterday"), ("until", "<b>")] {
            let refused = ids(&[(name, text)]).expect_err(name);
            assert!(refused.why.starts_with(&format!("{name}: '{text}' is ")), "{refused:?}");
        }
        let found = history(&store, &HashMap::new()).expect("all");
        let run = &found["runs"][1];
        assert_eq!(
            (&run["target"], &run["verdict_tone"]),
            (&json!("http://<b>y/"), &json!("strong")),
            "{run}"
        );
        assert_eq!((&run["state"], &run["verdict"]), (&json!("running"), &json!("still running")), "{run}");
        assert_eq!((&run["limit"], &run["before"]), (&Value::Null, &Value::Null), "{run}");
        assert_eq!(found["runs"][0]["alike"], json!(3), "nothing else has its target");
    }

    #[test]
    fn a_plan_is_told_once_however_many_runs_have_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("t.db")).expect("opens");
        for (id, plan) in [("a", "rate = 1"), ("b", "rate = 1"), ("c", "rate = 2")] {
            let mut event = started_event(id, "run", "demo");
            let Event::RunStarted(started) = &mut event else { panic!("it is a start") };
            started.plan = plan.to_owned();
            store.begin(&event).expect("begins").finish().expect("is kept");
        }
        let found = history(&store, &HashMap::new()).expect("all");
        let alike: Vec<_> =
            found["runs"].as_array().expect("a list").iter().map(|run| &run["alike"]).collect();
        assert_eq!(alike, [&json!(2), &json!(1), &json!(1)]);
        assert_eq!(found["plans"], json!({ "1": "rate = 1", "2": "rate = 2" }));
        let one = HashMap::from([("limit".to_owned(), "1".to_owned())]);
        let found = history(&store, &one).expect("the last");
        assert_eq!(found["plans"], json!({ "2": "rate = 2" }), "those that were asked for");
    }

    #[test]
    fn a_limit_is_told_with_its_interval_and_against_the_run_before() {
        let before = PreviousLimit {
            id: record::RunId("z".to_owned()),
            held: Some(2212.0),
            lower: 2150.0,
            upper: 2250.0,
        };
        let run = RunSummary {
            held: Some(1991.0),
            lower: Some(1980.0),
            upper: Some(2010.0),
            unit: Some("requests/s".to_owned()),
            previous_limit: Some(before),
            ..run_summary()
        };
        let row = super::run_json(&run);
        assert_eq!(
            row["limit"],
            json!({ "held": 1991.0, "lower": 1980.0, "upper": 2010.0, "unit": "requests/s" })
        );
        let ended = Some("generator_limit".to_owned());
        let ours = RunSummary { state: RunState::Ended, search_ended: ended, ..run.clone() };
        assert_eq!(super::run_json(&ours)["limit"]["upper"], Value::Null, "that is no limit of the target's");
        assert_eq!(
            super::run_json(&ours)["verdict"],
            json!("at least 1,991 requests/s: fails at 2,010, torment fell behind in between")
        );
        let open = RunSummary { upper: None, ..ours };
        let verdict = |run: &RunSummary| super::run_json(run)["verdict"].clone();
        assert_eq!(
            verdict(&open),
            "at least 1,991 requests/s: torment was the limit, and the target's is not known"
        );
        // Only the page of the run knows whether the freezes made torment late.
        let stood_still = Some(FreezeSummary { count: 2, longest: Nanos::from_millis(900) });
        let froze = RunSummary { freezes: stood_still, ..open };
        assert_eq!(
            verdict(&froze),
            "at least 1,991 requests/s: above that torment fell behind (the target froze twice, up to 900 ms)"
        );
        // The two intervals are further apart than the noise.
        assert_eq!(row["before"], json!({ "id": "z", "text": "−10 %, significant", "tone": "bad" }));
    }
}
