//! The sections about what a plan starts, and what it tries.

use super::{File, entries};
use crate::draft::{Given, NeedDraft, Section};
use crate::error::{Error, Place};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The sections that are read here.
pub(super) const NAMES: [&str; 7] = ["service", "postgres", "need", "variant", "hypothesis", "try", "quick"];

impl File {
    /// `at` is where the section's name stands.
    pub(super) fn part(
        &mut self,
        name: &str,
        at: Range<usize>,
        value: Spanned<DeValue<'_>>,
    ) -> Result<(), Error> {
        let span = value.span();
        match name {
            "variant" | "hypothesis" => {
                let mut sections = Vec::new();
                for (span, table) in self.tables(name, value)? {
                    sections.push(self.placed(name, span, table)?);
                }
                let into =
                    if name == "variant" { &mut self.draft.variants } else { &mut self.draft.hypotheses };
                *into = sections;
            }
            "need" => {
                for (key, value) in entries(self.one_table("need.NAME", span, value.into_inner())?) {
                    let table = self.one_table("need.NAME", value.span(), value.into_inner())?;
                    let section = self.placed(name, key.span(), table)?;
                    let given = Given { text: key.get_ref().to_string(), place: self.place(key.span()) };
                    self.draft.needs.push(NeedDraft::Program(given, section));
                }
            }
            _ => {
                let table = self.one_table(name, span, value.into_inner())?;
                let section = self.placed(name, at, table)?;
                match name {
                    "service" => self.draft.service = Some(section),
                    "postgres" => self.draft.needs.push(NeedDraft::Postgres(section)),
                    "try" => self.draft.experiment = section,
                    _ => self.draft.quick = Some(section),
                }
            }
        }
        Ok(())
    }

    fn placed(&self, name: &str, span: Range<usize>, table: DeTable<'_>) -> Result<Section, Error> {
        Ok(Section { place: Some(self.place(span)), ..self.section(name, table)? })
    }
}

impl NeedDraft {
    /// Where in its file it begins.
    pub(super) fn start(&self) -> usize {
        let (Self::Postgres(section) | Self::Program(_, section)) = self;
        match &section.place {
            Some(Place::File { span, .. }) => span.start,
            _ => 0,
        }
    }
}
