//! A browser's recording as one user's flow.

mod cookies;
mod correlation;
mod page;
mod recording;
mod select;
mod steps;

use crate::document::{Document, Flow};
use crate::{Error, HarOptions, ImportedPlan};

pub(crate) fn import(text: &str, options: &HarOptions) -> Result<ImportedPlan, Error> {
    let exchanges = recording::parse(text)?;
    let selection = select::select(exchanges, options)?;
    let mut document = Document { source: "a HAR recording", ..Document::default() };
    document.target.url = format!("{}/", selection.origin);
    document.notes = selection.notes;
    let (steps, notes) = steps::steps(selection.requests, &mut document);
    document.flow = Some(Flow { name: "recorded".to_owned(), notes, steps });
    Ok(document.finish())
}
