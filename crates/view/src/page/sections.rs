//! The page's sections below the verdict, most important first.

mod database;
mod evidence;
mod experiment;
mod figures;
mod load;
mod machine;
mod response;
mod run;
mod search;
mod tasks;
mod threads;

use super::builder::PageBuilder;
use crate::document::Section;
use crate::profile;

pub(super) use load::picture;

/// All sections that are not empty.
pub(super) fn all(page: &PageBuilder) -> Vec<Section> {
    let all = [
        evidence::section(&page.run),
        profile::section(&page.run),
        search::section(page),
        experiment::section(page),
        load::section(page),
        response::section(page),
        threads::section(page),
        machine::memory(page),
        machine::jvm(page),
        database::section(page),
        machine::sockets(page),
        machine::section(page),
        figures::section(page),
        tasks::section(page),
        run::section(&page.run),
    ];
    all.into_iter().filter_map(Section::non_empty).collect()
}
