//! What people call a run.

use super::page::PageArgs;
use crate::commit::commit;
use clap::Args;
use record::Label;

/// More letters no tag needs.
const LONGEST: usize = 100;

/// What the run is to be called.
#[derive(Debug, Clone, Default, Args)]
pub struct LabelArgs {
    /// Name the run, to find it again: `torment show NAME`
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = "Mode")]
    name: Option<String>,
    /// Tag the run with KEY=VALUE or a word, for `torment list --tag`; may be repeated
    #[arg(long = "tag", value_name = "TAG", value_parser = tag, help_heading = "Mode")]
    tags: Vec<String>,
}

/// What becomes of a run.
#[derive(Debug, Clone, Default, Args)]
pub struct KeepArgs {
    /// Do not keep the run
    #[arg(long)]
    pub no_store: bool,
    /// Its page while it lasts.
    #[command(flatten)]
    pub page: PageArgs,
    /// What the run is called.
    #[command(flatten)]
    pub label: LabelArgs,
}

impl LabelArgs {
    /// That, and the commit that is checked out here.
    pub fn label(&self) -> Label {
        Label {
            name: self.name.clone(),
            tags: distinct(&self.tags),
            commit: std::env::current_dir().ok().and_then(|folder| commit(&folder)),
        }
    }
}

/// Each once, in the order given.
pub fn distinct(tags: &[String]) -> Vec<String> {
    let is_new = |(place, tag): &(usize, &String)| !tags[..*place].contains(tag);
    tags.iter().enumerate().filter(is_new).map(|(_, tag)| tag.clone()).collect()
}

/// The name of a run.
pub fn name(text: &str) -> Result<String, String> {
    store::check_name(text).map(|()| text.to_owned())
}

/// A tag of a run.
pub fn tag(text: &str) -> Result<String, String> {
    let key = text.split_once('=').map_or(text, |(key, _)| key);
    let why = match text {
        _ if key.is_empty() => "it has no word before the =",
        _ if text.chars().any(|letter| letter.is_whitespace() || letter.is_control()) => {
            "it contains a space"
        }
        _ if text.chars().count() > LONGEST => "it has more than 100 characters",
        _ => return Ok(text.to_owned()),
    };
    Err(format!("{why}; expected KEY=VALUE or a word, such as pool=10 or nightly"))
}
