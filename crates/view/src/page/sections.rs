//! The page's sections below the verdict, most important first.

mod database;
mod evidence;
mod experiment;
mod figures;
mod load;
mod machine;
mod profile;
mod response;
mod run;
mod search;
mod tasks;
mod threads;

use super::builder::PageBuilder;
use crate::document::Section;

pub(super) use load::picture;

/// All sections that are not empty.
pub(super) fn all(pages: &PageBuilder) -> Vec<Section> {
    let all = [
        evidence::section(&pages.run),
        profile::section(pages),
        search::section(pages),
        experiment::section(pages),
        load::section(pages),
        response::section(pages),
        threads::section(pages),
        machine::memory(pages),
        machine::jvm(pages),
        database::section(pages),
        machine::sockets(pages),
        machine::section(pages),
        figures::section(pages),
        tasks::section(pages),
        run::section(&pages.run),
    ];
    all.into_iter().filter_map(Section::non_empty).collect()
}
