//! What ran on the processors.

use crate::document::Section;
use crate::page::pages::Pages;

pub(super) fn section(pages: &Pages) -> Section {
    match pages.run.profiles.is_empty() {
        true => Section::default(),
        false => crate::profile::section(&pages.run),
    }
}
