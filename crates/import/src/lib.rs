//! Requests that stand elsewhere, as a plan file to edit: a curl command, a HAR recording of a
//! browser, an OpenAPI description.
//!
//! What is not understood or not carried over is named, not dropped: in [`Imported::notes`] and as a
//! comment in the plan at its place. Secrets never get into the plan: `{env:NAME}` stands for them,
//! and a note says what to export.
//!
//! Pure: text in, text out. It opens no file (a body file is named in the plan, not read), asks no
//! server, and the same input always gives the same plan.
//!
//! ```
//! let imported = torment_import::from_curl("curl -H 'Authorization: Bearer abc' https://shop/cart").unwrap();
//! assert!(imported.plan.contains("\"Authorization: {env:AUTHORIZATION}\""));
//! assert!(imported.notes[0].contains("export AUTHORIZATION='…'"));
//! ```

mod curl;
mod document;
mod encode;
mod form;
mod har;
mod header;
mod multipart;
mod openapi;
mod placeholder;
mod secret;
mod url;

/// A plan file, and what it does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPlan {
    /// TOML with comments, to be edited and run. It is well-formed whatever was imported.
    pub plan: String,
    /// What was not carried over, was guessed, or must be done before a run: one sentence each, in
    /// the order of the plan. All of them stand in the plan as comments, too.
    pub notes: Vec<String>,
}

/// Why a text cannot be imported: what was found, what was expected, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// How a recording is imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HarOptions {
    /// Keep images, style sheets, scripts, fonts and media, too; without it they are counted in a note.
    pub include_assets: bool,
    /// The origin whose requests are kept, such as `https://shop.example`; without it, of the site of
    /// the first page, the one with the most requests.
    pub origin: Option<String>,
}

/// How a description is imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenApiOptions {
    /// Let operations that change state (POST, PUT, PATCH, DELETE) be part of the load; without it
    /// they are written, but commented out.
    pub include_writes: bool,
    /// Where the service is, instead of the description's first server: `http://host:8080/v1`.
    pub base: Option<String>,
}

/// Reads a curl command as copied from a browser's network panel ("Copy as cURL", the form for bash)
/// or from a page of documentation. Several URLs, `--next` and several commands give several requests.
///
/// # Errors
/// If there is no curl command, no URL, or a quote that is not closed.
pub fn from_curl(command: &str) -> Result<ImportedPlan, Error> {
    curl::import(command)
}

/// Reads a HAR 1.2 file: the requests of one origin become one flow, in order, with the pauses that
/// were made and with the values that later requests took from earlier answers.
///
/// # Errors
/// If it is not a HAR file, or holds no request that can be made.
pub fn from_har(text: &str, options: &HarOptions) -> Result<ImportedPlan, Error> {
    har::import(text, options)
}

/// Reads an OpenAPI 3 description, JSON or YAML: each operation becomes a request.
///
/// # Errors
/// If it is not such a description, or describes no operation.
pub fn from_openapi(text: &str, options: &OpenApiOptions) -> Result<ImportedPlan, Error> {
    openapi::import(text, options)
}
