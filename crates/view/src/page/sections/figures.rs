//! The machine's figures: tables and explanations.

use crate::ReportKind;
use crate::document::{Section, Text};
use crate::figure_tables::{distinct, tables_and_notes};
use crate::page::builder::PageBuilder;
use crate::summary::headline;

pub(super) fn section(pages: &PageBuilder) -> Section {
    let mut section = Section::named("figures", "Figures of the machine");
    let run = &pages.run;
    if run.measured.is_empty() {
        return section;
    }
    if matches!(run.kind(), ReportKind::Sheet | ReportKind::WorkingSet) {
        section = section.texts(headline(run));
    }
    let names = run.measured.iter().map(|figure| &figure.table);
    for name in distinct(names.chain(run.notes.iter().map(|(table, _)| table))) {
        let (tables, said) = tables_and_notes(name, &run.measured, &run.notes);
        section = tables.into_iter().fold(section, |section, table| section.table(table.titled(name)));
        section = section.texts(said.into_iter().map(Text::plain));
    }
    section
}
