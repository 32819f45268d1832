//! Imports requests from elsewhere as a plan file to edit: a curl command, a browser's HAR recording, an OpenAPI
//! description.
//!
//! What is not understood or not carried over is reported, not dropped: in [`ImportedPlan::notes`] and as a comment
//! at its place in the plan. Secrets never get into the plan: `{env:NAME}` stands for them, and a note says what to
//! export.
//!
//! Pure: text in, text out. It opens no file (a body file is named in the plan, not read), contacts no server, and
//! the same input always gives the same plan.
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

/// A plan file, and notes on what it lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPlan {
    /// TOML with comments, to be edited and run. It is well-formed whatever was imported.
    pub plan: String,
    /// What was not carried over, was guessed, or must be done before a run: one sentence each, in the order of the
    /// plan. All of them are also comments in the plan.
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
    /// Keep images, style sheets, scripts, fonts and media; otherwise a note counts them.
    pub include_assets: bool,
    /// The origin whose requests are kept, such as `https://shop.example`; by default, of the first page's site, the
    /// origin with the most requests.
    pub origin: Option<String>,
}

/// How a description is imported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenApiOptions {
    /// Include operations that change state (POST, PUT, PATCH, DELETE) in the load; otherwise they are written, but
    /// commented out.
    pub include_writes: bool,
    /// The service's URL, instead of the description's first server: `http://host:8080/v1`.
    pub base: Option<String>,
}

/// Imports a curl command copied from a browser's network panel ("Copy as cURL", the form for bash) or from
/// documentation. Several URLs, `--next` and several commands give several requests.
///
/// # Errors
/// If there is no curl command, no URL, or a quote is not closed.
pub fn from_curl(command: &str) -> Result<ImportedPlan, Error> {
    curl::import(command)
}

/// Imports a HAR 1.2 file: the requests of one origin become one flow, in order, with the recorded pauses and the
/// values that later requests took from earlier answers.
///
/// # Errors
/// If it is not a HAR file, or contains no request that can be made.
pub fn from_har(text: &str, options: &HarOptions) -> Result<ImportedPlan, Error> {
    har::import(text, options)
}

/// Imports an OpenAPI 3 description, JSON or YAML: each operation becomes a request.
///
/// # Errors
/// If it is not such a description, or describes no operation.
pub fn from_openapi(text: &str, options: &OpenApiOptions) -> Result<ImportedPlan, Error> {
    openapi::import(text, options)
}
