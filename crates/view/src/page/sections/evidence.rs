//! What gave first, the evidence, and what to do.

use crate::document::{Section, Text, TextSpan, TextTable};
use crate::explain::{
    conclusion, finding_head, how_confident, supporting_sections, threshold, why_no_verdict,
};
use crate::watched::amount;
use crate::wording::or_dash;
use crate::{ReportKind, RunView, Tone};
use record::{Diagnosis, Finding};

pub(super) fn section(run: &RunView) -> Section {
    let section = Section::named("evidence", "What gave first");
    let loaded = matches!(run.kind(), ReportKind::Load | ReportKind::Search);
    let Some(diagnosis) = &run.diagnosis else {
        let said = (loaded && run.started.is_some()).then(|| Text::new(Tone::Warn, why_no_verdict(run)));
        return section.texts(said);
    };
    let mut section = section.texts(conclusion(run, diagnosis));
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        section = section.texts(of(index, finding, diagnosis)).table(facts(finding));
    }
    supporting_sections(run).into_iter().fold(section, Section::merged)
}

fn of(index: usize, finding: &Finding, diagnosis: &Diagnosis) -> Vec<Text> {
    let sentence = (!diagnosis.sentences.contains(&finding.sentence)).then(|| Text::plain(&finding.sentence));
    let sure = Text::new(Tone::Faint, how_confident(finding.confidence));
    std::iter::once(finding_head(index, finding, diagnosis)).chain(sentence).chain([sure]).collect()
}

fn facts(finding: &Finding) -> TextTable {
    let head = ["fact", "seen", "when well", "threshold", "seconds", "source"];
    let row = |fact: &record::Evidence| -> Vec<TextSpan> {
        let well = or_dash(fact.well.map(|well| amount(well, &fact.unit)));
        vec![
            TextSpan::new(Tone::Plain, &fact.text),
            TextSpan::new(Tone::Strong, amount(fact.value, &fact.unit)),
            TextSpan::new(Tone::Plain, well),
            TextSpan::new(Tone::Faint, or_dash(threshold(fact))),
            TextSpan::new(Tone::Faint, or_dash(Some(fact.windows).filter(|windows| *windows > 0))),
            TextSpan::new(Tone::Faint, &fact.source),
        ]
    };
    let mut table = TextTable::with_text_last(&head).titled(finding.cause.words());
    finding.evidence.iter().for_each(|fact| table.push_row(row(fact)));
    table
}
