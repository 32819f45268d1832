//! Differences between runs: in words, and all figures as a table.

use super::plain;
use view::document::{PageCaveat, Text, TextSpan, TextTable};
use view::{ComparedMeasure, RunComparison, Tone};

/// The verdict of each run but the first, what was changed for it, and what to do next.
pub(super) fn verdict(compared: &RunComparison) -> Vec<Text> {
    let one = |verdict: &view::RunVerdict| Text::new(verdict.significance.tone(), &verdict.sentence);
    let changed = compared.changes().map(|changed| Text::labelled("changed", changed.to_string()));
    compared.verdicts.iter().map(one).chain(changed).chain(compared.next_steps()).collect()
}

pub(super) fn caveats(compared: &RunComparison) -> Vec<PageCaveat> {
    compared.caveats().map(|caveat| PageCaveat { text: caveat.to_string(), section: None }).collect()
}

/// The figures of all runs: the picture shows how each differs from the first.
pub(super) fn table(compared: &RunComparison) -> TextTable {
    let titles = compared.runs.iter().map(|run| run.title.clone());
    TextTable {
        title: "Figures, each with its 95 % interval".to_owned(),
        head: std::iter::once(String::new()).chain(titles).collect(),
        rows: compared.measures.iter().map(figures).collect(),
        ..TextTable::default()
    }
}

fn figures(measure: &ComparedMeasure) -> Vec<TextSpan> {
    let figure = |figure: &Option<view::RunFigure>| {
        let Some(figure) = figure else {
            return TextSpan { text: "not measured".to_owned(), tone: Tone::Faint };
        };
        let interval = measure.interval_words(figure);
        let interval = if interval.is_empty() { interval } else { format!(" ({interval})") };
        plain(format!("{}{interval}", measure.format_value(figure.value)))
    };
    std::iter::once(plain(measure.title.clone())).chain(measure.figures.iter().map(figure)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::RunId;
    use stats::Estimate;
    use view::{ComparedRun, RunFigure, RunVerdict, Significance};

    fn compared() -> RunComparison {
        let run = |id: &str| ComparedRun {
            id: RunId(id.to_owned()),
            title: id.to_owned(),
            command: record::RunKind::Run,
            target: "http://a/".to_owned(),
            started_unix_ms: 1,
            machine: record::Machine::default(),
            label: record::Label::default(),
            first_cause: None,
        };
        let interval = Some(Estimate { value: 2e6, low: 1e6, high: 3e6 });
        let measure = ComparedMeasure {
            id: "response_p99",
            title: "response p99".to_owned(),
            unit: record::FigureUnit::Nanos,
            less_is_better: true,
            decides: true,
            figures: vec![Some(RunFigure { value: 2e6, interval }), None],
            differences: vec![None, None],
        };
        RunComparison {
            runs: vec![run("before"), run("after")],
            all_caveats: vec![
                record::Caveat::new(record::CaveatKind::OtherPlan, "from “before” to “after”: seed 5 → 6"),
                record::Caveat::new(record::CaveatKind::SingleRuns, "one run of each"),
            ],
            measures: vec![measure],
            code: vec![None, None],
            verdicts: vec![RunVerdict {
                significance: Significance::Worse,
                sentence: "after is slower".to_owned(),
            }],
            noise: 0.05,
        }
    }

    #[test]
    fn figures_have_their_interval() {
        let compared = compared();
        let texts: Vec<String> = verdict(&compared).iter().map(ToString::to_string).collect();
        assert_eq!(texts[..2], ["after is slower", "changed: from “before” to “after”: seed 5 → 6"]);
        assert!(
            texts[2].starts_with("next: before you rely on it") && texts[3].starts_with("expect: "),
            "{texts:?}"
        );
        let caveats: Vec<String> = caveats(&compared).into_iter().map(|doubt| doubt.text).collect();
        assert_eq!(caveats, ["one run of each"], "what was changed by intention is no doubt");
        let table = table(&compared);
        assert_eq!(table.head, ["", "before", "after"]);
        assert_eq!(table.rows[0][1].text, "2 ms (1 ms–3 ms)");
        assert_eq!(table.rows[0][2].text, "not measured");
    }
}
