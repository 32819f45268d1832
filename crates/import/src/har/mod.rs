//! A browser's recording as one user's flow.

mod choose;
mod cookies;
mod page;
mod recording;
mod steps;
mod take;

use crate::document::{Document, Flow};
use crate::{Error, HarOptions, Imported};

pub(crate) fn import(text: &str, options: &HarOptions) -> Result<Imported, Error> {
    let exchanges = recording::read(text)?;
    let chosen = choose::choose(exchanges, options)?;
    let mut document = Document { source: "a HAR recording", ..Document::default() };
    document.target.url = format!("{}/", chosen.origin);
    document.notes = chosen.notes;
    let (steps, notes) = steps::steps(chosen.kept, &mut document);
    document.flow = Some(Flow { name: "recorded".to_owned(), notes, steps });
    Ok(document.finish())
}
