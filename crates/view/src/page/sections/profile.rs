//! What ran on the processors.

use crate::document::Section;
use crate::page::builder::PageBuilder;

pub(super) fn section(page: &PageBuilder) -> Section {
    match page.run.profiles.is_empty() {
        true => Section::default(),
        false => crate::profile::section(&page.run),
    }
}
