//! Results in the form that was asked for.

use crate::args::{Action, Common, Format};
use crate::{Failure, result, wrong};
use anyhow::anyhow;
use std::io::{self, Write};
use view::{Grid, Text};

/// A result in every form it has.
pub struct Forms<'a> {
    /// For people.
    pub lines: &'a dyn Fn() -> Vec<Text>,
    /// For programs.
    pub json: &'a dyn Fn() -> serde_json::Value,
    /// For spreadsheets, and programs that read line by line.
    pub grid: &'a dyn Fn() -> Grid,
    /// For pull requests.
    pub markdown: &'a dyn Fn() -> String,
}

/// Refuses a form that a command does not have, before it does anything.
pub fn refuse(action: &Action, format: Format) -> Result<(), Failure> {
    let why = match (action, format) {
        (Action::Export(_), Format::Text | Format::Csv | Format::Parquet) => return Ok(()),
        (Action::Export(_), _) => "tables are written as csv or parquet",
        (_, Format::Text | Format::Json) => return Ok(()),
        (_, Format::Parquet) => "only export writes tables in this format",
        (Action::Compare(_) | Action::Show(_) | Action::List(_), _) => return Ok(()),
        _ => "this command prints text or json; only compare, list and show print other formats",
    };
    Err(unknown(format, why))
}

/// A form that there is none of, and why.
pub fn unknown(format: Format, why: &str) -> Failure {
    wrong(anyhow!("--format {}: {why}", format.name()))
}

/// To standard output.
pub fn print(forms: &Forms<'_>, common: &Common) -> io::Result<()> {
    let text = match common.format {
        // Parquet was refused where it was typed.
        Format::Text | Format::Json | Format::Parquet => return result(forms.lines, forms.json, common),
        Format::Csv => (forms.grid)().csv(),
        Format::Ndjson => (forms.grid)().ndjson(),
        Format::Markdown => (forms.markdown)(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
