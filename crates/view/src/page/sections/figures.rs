//! The machine's figures: tables and explanations.

use crate::ReportKind;
use crate::document::{Section, Text};
use crate::figure_tables::tables_and_notes;
use crate::page::builder::PageBuilder;
use crate::summary::headline;
use crate::wording::distinct;

pub(super) fn section(page: &PageBuilder) -> Section {
    let mut section = Section::named("figures", "Figures of the machine");
    let run = &page.run;
    if run.figures.is_empty() {
        return section;
    }
    if matches!(run.kind(), ReportKind::Probe | ReportKind::WorkingSet) {
        section = section.texts(headline(run));
    }
    let names = run.figures.iter().map(|figure| &figure.table);
    for name in distinct(names.chain(run.notes.iter().map(|(table, _)| table))) {
        let (tables, said) = tables_and_notes(name, &run.figures, &run.notes);
        section = tables.into_iter().fold(section, |section, table| section.table(table.titled(name)));
        section = section.texts(said.into_iter().map(Text::plain));
    }
    section
}
