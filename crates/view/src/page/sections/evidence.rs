//! What gave first, why that is believed, and what to do.

use crate::document::{Piece, Section, Table, Text};
use crate::explain::{conclusion, finding_head, how_confident, no_verdict, rest};
use crate::watched::amount;
use crate::{Kind, RunView, Tone};
use record::{Diagnosis, Finding};

pub(super) fn section(run: &RunView) -> Section {
    let section = Section::named("evidence", "What gave first");
    let loaded = matches!(run.kind(), Kind::Load | Kind::Search);
    let Some(diagnosis) = &run.diagnosis else {
        let said = (loaded && run.started.is_some()).then(|| Text::of(Tone::Warn, no_verdict(run)));
        return section.texts(said);
    };
    let mut section = section.texts(conclusion(run, diagnosis));
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        section = section.texts(of(index, finding, diagnosis)).table(facts(finding));
    }
    rest(run).into_iter().fold(section, Section::part)
}

fn of(index: usize, finding: &Finding, diagnosis: &Diagnosis) -> Vec<Text> {
    let sentence = (!diagnosis.sentences.contains(&finding.sentence)).then(|| Text::plain(&finding.sentence));
    let sure = Text::of(Tone::Faint, how_confident(finding.confidence));
    std::iter::once(finding_head(index, finding, diagnosis)).chain(sentence).chain([sure]).collect()
}

fn facts(finding: &Finding) -> Table {
    let head = ["fact", "seen", "when well", "threshold", "seconds", "source"];
    let row = |fact: &record::Evidence| -> Vec<Piece> {
        let well = fact.well.map_or("–".to_owned(), |well| amount(well, &fact.unit));
        vec![
            Piece::of(Tone::Plain, &fact.text),
            Piece::of(Tone::Strong, amount(fact.value, &fact.unit)),
            Piece::of(Tone::Plain, well),
            Piece::of(Tone::Faint, amount(fact.threshold, &fact.unit)),
            Piece::of(
                Tone::Faint,
                match fact.windows {
                    0 => "–".to_owned(),
                    count => count.to_string(),
                },
            ),
            Piece::of(Tone::Faint, &fact.source),
        ]
    };
    let mut table = Table::with_text_last(&head).titled(finding.cause.words());
    finding.evidence.iter().for_each(|fact| table.row(row(fact)));
    table
}
