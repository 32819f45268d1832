//! What ran on the processors.

use crate::document::Section;
use crate::page::builder::PageBuilder;

pub(super) fn section(pages: &PageBuilder) -> Section {
    match pages.run.profiles.is_empty() {
        true => Section::default(),
        false => crate::profile::section(&pages.run),
    }
}
