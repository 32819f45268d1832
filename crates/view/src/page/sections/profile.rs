//! What ran on the processors.

use crate::document::Section;
use crate::page::pages::Pages;

pub(super) fn section(pages: &Pages) -> Section {
    let all = pages.run.profiles.iter().map(crate::profile::section);
    all.reduce(Section::part).unwrap_or_default()
}
