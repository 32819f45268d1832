//! Several runs compared, as one document: what differs and how sure that is, and their curves in one chart.

mod curves;
mod differences;

use crate::http_error::HttpError;
use crate::run_cache::{RunCache, lock};
use record::RunId;
use store::{RunState, RunSummary, Store};
use units::Share;
use view::document::{
    Document, PageCaveat, PageFront, PageHeader, PageState, SCHEMA, Section, TextSpan, TextTable, Timeline,
};
use view::{
    LoadSamples, MAX_COMPARED, NOISE, RunComparison, RunView, Tone, compare_runs, strip_common_prefix,
};

/// One of the compared runs.
struct ComparedDocument {
    summary: RunSummary,
    document: Document,
}

/// Compares runs, named with commas between them; each against the first.
pub(crate) fn compare(cache: &RunCache, run_list: &str) -> Result<Document, HttpError> {
    let names: Vec<&str> = run_list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if !(2..=MAX_COMPARED).contains(&names.len()) {
        return Err(HttpError::bad_request(format!(
            "runs: expected 2 to {MAX_COMPARED} names of runs, such as ?runs=last~1,last; found {}",
            names.len()
        )));
    }
    let store = cache.store()?;
    let mut runs: Vec<ComparedDocument> = Vec::new();
    let mut views = Vec::new();
    for name in names {
        let run = cache.run(name)?;
        let mut run = lock(&run);
        run.catch_up(false)?;
        let summary = run.summary()?;
        if runs.iter().any(|other| other.summary.id == summary.id) {
            return Err(HttpError::bad_request(format!(
                "'{name}' is run {}, which is already in the list: name another",
                summary.id
            )));
        }
        views.push(run.pages.run.clone());
        runs.push(ComparedDocument { summary, document: run.document() });
    }
    let samples = runs.iter().zip(&views).map(|(run, view)| load_samples(&store, &run.summary.id, view));
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    let pairs: Vec<(&RunView, &LoadSamples)> = views.iter().zip(&samples).collect();
    Ok(side_by_side(&runs, compare_runs(&pairs, NOISE)))
}

/// How a run's seconds vary: the source of intervals.
fn load_samples(store: &Store, id: &RunId, view: &RunView) -> Result<LoadSamples, HttpError> {
    let mut samples = LoadSamples::new(view);
    for event in store.events(id)? {
        samples.fold(view, &event?);
    }
    Ok(samples)
}

/// All runs on one page. If their figures cannot be compared, that is a caveat: they are shown side by side all the
/// same.
fn side_by_side(runs: &[ComparedDocument], compared: Result<RunComparison, String>) -> Document {
    let mut front = PageFront { head: head(runs), ..PageFront::default() };
    let mut section = Section {
        id: "compared".to_owned(),
        title: "Side by side".to_owned(),
        tables: vec![verdicts(runs)],
        charts: curves::charts(runs),
        ..Section::default()
    };
    let mut code = Vec::new();
    match compared {
        Ok(compared) => {
            front.verdict = differences::verdict(&compared);
            front.head.name = compared.titles().collect::<Vec<_>>().join(" · ");
            front.doubts = differences::caveats(&compared);
            front.pictures = compared.charts();
            section.tables.push(differences::table(&compared));
            code = compared.code_sections();
        }
        Err(why) => {
            front.doubts.push(PageCaveat { text: format!("no figures are compared: {why}"), section: None })
        }
    }
    front.sections.push(section);
    front.sections.extend(code);
    Document { schema: SCHEMA, front, timeline: Timeline::default() }
}

fn head(runs: &[ComparedDocument]) -> PageHeader {
    let goes_on = runs.iter().any(|run| run.summary.state == RunState::Running);
    let mut targets: Vec<String> = Vec::new();
    for run in runs {
        let target = match targets.first() {
            Some(first) if *first != run.summary.target => strip_common_prefix(first, &run.summary.target).1,
            _ => run.summary.target.clone(),
        };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    PageHeader {
        id: runs.iter().map(|run| run.summary.id.0.as_str()).collect::<Vec<_>>().join(","),
        command: "compare".to_owned(),
        target: targets.join(" · "),
        goal: common(runs, |head| &head.goal),
        machine: common(runs, |head| &head.machine),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: runs.iter().map(|run| run.summary.started_unix_ms).min().unwrap_or_default(),
        ended_unix_ms: runs.iter().filter_map(|run| run.summary.ended_unix_ms).max().filter(|_| !goes_on),
        state: if goes_on { PageState::Running } else { PageState::Ended },
        ..PageHeader::default()
    }
}

/// The value all runs share; empty if they differ.
fn common(runs: &[ComparedDocument], of: fn(&PageHeader) -> &String) -> String {
    let mut all = runs.iter().map(|run| of(&run.document.front.head));
    let first = all.next().cloned().unwrap_or_default();
    if all.all(|other| *other == first) { first } else { String::new() }
}

/// The verdict of each run by itself.
fn verdicts(runs: &[ComparedDocument]) -> TextTable {
    let head = ["run", "name", "target", "goal", "verdict", "lost"];
    let row = |run: &ComparedDocument| {
        let summary = &run.summary;
        let (verdict, tone) = view::result_words(summary);
        vec![
            TextSpan { text: summary.id.0.clone(), tone: Tone::Strong },
            plain(summary.label.name.clone().unwrap_or_default()),
            plain(summary.target.clone()),
            plain(summary.goal.clone()),
            TextSpan { text: verdict, tone },
            plain(summary.loss.map_or_else(String::new, |lost| Share(lost).to_string())),
        ]
    };
    TextTable {
        title: String::new(),
        head: head.map(str::to_owned).to_vec(),
        rows: runs.iter().map(row).collect(),
        text: vec![1, 2, 3, 4],
        runs: runs.iter().map(|run| Some(run.summary.id.0.clone())).collect(),
    }
}

fn plain(text: String) -> TextSpan {
    TextSpan { text, tone: Tone::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::tests::run_summary;

    #[test]
    fn verdicts_are_a_table_that_leads_to_the_runs() {
        let run = |id: &str, target: &str| ComparedDocument {
            summary: RunSummary {
                id: RunId(id.to_owned()),
                target: target.to_owned(),
                unit: Some("requests/s".to_owned()),
                lower: Some(1983.4),
                upper: Some(2025.0),
                loss: Some(0.25),
                state: RunState::Ended,
                search_ended: Some("converged".to_owned()),
                ..run_summary()
            },
            document: Document { schema: SCHEMA, front: PageFront::default(), timeline: Timeline::default() },
        };
        let runs = [run("a", "http://a/"), run("b", "http://b/"), run("c", "http://a/")];
        let front = side_by_side(&runs, Err("they are apples and pears".to_owned())).front;
        assert_eq!(
            (front.head.command.as_str(), front.head.target.as_str()),
            ("compare", "http://a/ · http://b/")
        );
        assert_eq!(front.head.id, "a,b,c");
        assert!(front.doubts[0].text.contains("apples and pears"), "{:?}", front.doubts);
        let table = &front.sections[0].tables[0];
        assert_eq!(table.runs, ["a", "b", "c"].map(|id| Some(id.to_owned())));
        let texts: Vec<&str> = table.rows[0].iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts.len(), table.head.len());
        assert_eq!(
            (texts[0], texts[4], texts[5]),
            ("a", "holds 1,983 requests/s (between 1,983 and 2,025)", "25 %")
        );
    }
}
