//! What gave first, why that is believed, and what to do.

use crate::explain::{conclusion, finding_head, how_confident, look, no_verdict, steps, unseen, who};
use crate::page::pages::Pages;
use crate::page::text::{all_said, piece, plain, said};
use crate::page::{Piece, Section, Table, Text};
use crate::watched::amount;
use crate::{Kind, Tone};
use diagnosis::cause_name;
use record::watch::Watched;
use record::{Diagnosis, Finding};

pub(super) fn section(pages: &Pages) -> Section {
    let section = Section::named("evidence", "What gave first");
    let loaded = matches!(pages.kind(), Kind::Load | Kind::Search);
    let Some(diagnosis) = &pages.diagnosis else {
        let said = (loaded && pages.started.is_some()).then(|| vec![piece(no_verdict(pages), Tone::Warn)]);
        return section.texts(said);
    };
    let nobody = Watched::default();
    let mut section = section.texts(all_said(&conclusion(diagnosis)));
    for (index, finding) in diagnosis.findings.iter().enumerate() {
        section = section.texts(of(index, finding, diagnosis)).tabled(Some(facts(finding)));
    }
    let steps = steps(pages, pages.watched.as_ref().unwrap_or(&nobody));
    section
        .table("step by step", steps)
        .texts(under("snapshots", all_said(&pages.looks.iter().flat_map(look).collect::<Vec<_>>())))
        .texts(under("watched", all_said(&who(pages))))
        .texts(under("not observable, so not ruled out", all_said(&unseen(pages))))
        .texts(under("what would change this verdict", diagnosis.unless.iter().map(plain).collect()))
}

/// Texts under a word that says what they are.
fn under(head: &str, texts: Vec<Text>) -> Vec<Text> {
    let head = (!texts.is_empty()).then(|| vec![piece(head, Tone::Strong)]);
    head.into_iter().chain(texts).collect()
}

fn of(index: usize, finding: &Finding, diagnosis: &Diagnosis) -> Vec<Text> {
    let sentence = (!diagnosis.sentences.contains(&finding.sentence)).then(|| plain(&finding.sentence));
    let sure = vec![piece(how_confident(finding.confidence), Tone::Faint)];
    std::iter::once(said(&finding_head(index, finding, diagnosis))).chain(sentence).chain([sure]).collect()
}

fn facts(finding: &Finding) -> Table {
    let head = ["fact", "seen", "where all was well", "threshold", "seconds", "read from"];
    let row = |fact: &record::Evidence| -> Vec<Piece> {
        let well = fact.well.map_or("–".to_owned(), |well| amount(well, &fact.unit));
        vec![
            piece(&fact.text, Tone::Plain),
            piece(amount(fact.value, &fact.unit), Tone::Strong),
            piece(well, Tone::Plain),
            piece(amount(fact.threshold, &fact.unit), Tone::Faint),
            piece(
                match fact.windows {
                    0 => "–".to_owned(),
                    count => count.to_string(),
                },
                Tone::Faint,
            ),
            piece(&fact.source, Tone::Faint),
        ]
    };
    Table {
        title: cause_name(finding.cause).to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: finding.evidence.iter().map(row).collect(),
        text: vec![5],
        runs: Vec::new(),
    }
}
