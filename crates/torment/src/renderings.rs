//! Results in the requested format.

use crate::args::{Action, CommonArgs, OutputFormat};
use crate::{CommandError, paper, print_result, usage_error};
use anyhow::anyhow;
use std::io::{self, IsTerminal, Write};
use view::{Glyphs, Grid, RunView, Text, sketch};

/// A result in all its formats.
pub struct Renderings<'a> {
    /// For people.
    pub lines: &'a dyn Fn() -> Vec<Text>,
    /// For programs.
    pub json: &'a dyn Fn() -> serde_json::Value,
    /// For spreadsheets, and programs that read line by line.
    pub grid: &'a dyn Fn() -> Grid,
    /// For pull requests.
    pub markdown: &'a dyn Fn() -> String,
}

/// Rejects a format that a command does not have, before it does anything.
pub fn check_format(action: &Action, format: OutputFormat) -> Result<(), CommandError> {
    let why = match (action, format) {
        (Action::Export(_), OutputFormat::Text | OutputFormat::Csv | OutputFormat::Parquet) => return Ok(()),
        (Action::Export(_), _) => "tables are written as csv or parquet",
        (_, OutputFormat::Text | OutputFormat::Json) => return Ok(()),
        (_, OutputFormat::Parquet) => "only export writes tables in this format",
        (Action::Compare(_) | Action::Show(_) | Action::List(_), _) => return Ok(()),
        _ => "this command prints text or json; only compare, list and show print other formats",
    };
    Err(unsupported_format(format, why))
}

/// A missing format, and why.
pub fn unsupported_format(format: OutputFormat, why: &str) -> CommandError {
    usage_error(anyhow!("--format {}: {why}", format.name()))
}

/// To standard output.
pub fn print(renderings: &Renderings<'_>, common: &CommonArgs) -> io::Result<()> {
    let text = match common.format {
        // Parquet was rejected during argument parsing.
        OutputFormat::Text | OutputFormat::Json | OutputFormat::Parquet => {
            return print_result(renderings.lines, renderings.json, common);
        }
        OutputFormat::Csv => (renderings.grid)().csv(),
        OutputFormat::Ndjson => (renderings.grid)().ndjson(),
        OutputFormat::Markdown => (renderings.markdown)(),
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The picture of a limit, as wide as standard output.
pub fn limit_picture(view: &RunView, glyphs: Glyphs, common: &CommonArgs) -> Vec<Text> {
    sketch(view, glyphs, paper(io::stdout().is_terminal(), common).width)
}

/// ASCII where asked for, or where the locale is set to another encoding than UTF-8. Without a locale, as in most
/// containers, the terminal is assumed to be modern.
pub fn glyphs(plain: bool) -> Glyphs {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    if plain || locale.is_some_and(|locale| !is_utf8(&locale)) { Glyphs::Plain } else { Glyphs::Blocks }
}

/// Whether a locale is UTF-8: `C.UTF-8`, `de_DE.utf8`.
fn is_utf8(locale: &str) -> bool {
    locale.to_ascii_lowercase().replace('-', "").contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_says_which_letters_it_has() {
        for locale in ["C.UTF-8", "en_US.UTF-8", "de_DE.utf8", "ca_ES.UTF-8@valencia"] {
            assert!(is_utf8(locale), "{locale}");
        }
        for locale in ["C", "POSIX", "de_DE", "de_DE.ISO-8859-1", "ja_JP.eucJP"] {
            assert!(!is_utf8(locale), "{locale}");
        }
    }
}
