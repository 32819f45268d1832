//! An OpenAPI 3 description as requests, one for each operation.

mod body;
mod operation;
mod parameters;
mod sample;
mod sampler;
mod security;
mod server;
mod spec;

use crate::document::Document;
use crate::{Error, ImportedPlan, OpenApiOptions};
use operation::OperationImporter;
use server::Server;
use spec::Spec;

pub(crate) fn import(text: &str, options: &OpenApiOptions) -> Result<ImportedPlan, Error> {
    let root = spec::parse(text)?;
    let spec = Spec::new(&root)?;
    let mut document = Document { source: "an OpenAPI description", ..Document::default() };
    let (server, notes) = Server::first(&spec, options.base.as_deref())?;
    document.target.url = format!("{}/", server.origin);
    document.target.notes = notes;
    document.notes = spec.notes();
    let mut importer = OperationImporter { spec: &spec, server, options, document };
    importer.add_paths();
    let mut document = importer.document;
    if document.requests.is_empty() {
        return Err(Error::new("the description has no operation; expected some below 'paths'"));
    }
    let disabled: Vec<_> =
        document.requests.iter().filter(|request| request.disabled).map(|r| r.name.as_str()).collect();
    if !disabled.is_empty() && !options.include_writes {
        document.notes.push(format!(
            "operations that change state are commented out, choose with care: {}",
            disabled.join(", ")
        ));
    }
    if disabled.len() == document.requests.len() {
        document.notes.push("no request is active: as it stands, the plan requests only /".to_owned());
    }
    Ok(document.finish())
}
