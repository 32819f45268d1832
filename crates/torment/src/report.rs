//! `report`: a run's page frozen into a file, its picture, or both as Markdown and an image.

use crate::args::{CommonArgs, ReportArgs};
use crate::page::NOT_BUILT;
use crate::{CommandError, print_result, run_source, usage_error};
use anyhow::{Context, anyhow};
use record::RunId;
use runner::exit;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use units::Bytes;
use view::document::{Document, PageState};
use view::{Text, Tone};

/// Stands for standard output.
const STDOUT: &str = "-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportFormat {
    Html,
    Svg,
    /// The same picture, where SVG is not shown.
    Png,
    Markdown,
}

impl ReportFormat {
    /// The one asked for, or by the file's name.
    fn of(args: &ReportArgs) -> Self {
        let extension = args.output.as_deref().and_then(Path::extension).map(OsStr::to_ascii_lowercase);
        match extension.as_deref().and_then(OsStr::to_str) {
            _ if args.markdown => Self::Markdown,
            Some("md") => Self::Markdown,
            Some("svg") => Self::Svg,
            Some("png") => Self::Png,
            _ => Self::Html,
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Html => ".html",
            Self::Svg => ".svg",
            Self::Png => ".png",
            Self::Markdown => ".md",
        }
    }
}

/// What to write, and what was written beside it.
struct ReportFile {
    bytes: Vec<u8>,
    /// What can be done with it.
    hint: String,
    /// The image beside it.
    picture: Option<PathBuf>,
}

impl ReportFile {
    /// Without an image.
    fn alone(bytes: impl Into<Vec<u8>>, hint: &str) -> Self {
        Self { bytes: bytes.into(), hint: hint.to_owned(), picture: None }
    }
}

pub fn report(args: &ReportArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = run_source::existing(common)?;
    let id = store.find(args.run.as_deref().unwrap_or("last"))?;
    let form = ReportFormat::of(args);
    let usual = || match form {
        ReportFormat::Markdown => PathBuf::from(STDOUT),
        ReportFormat::Html | ReportFormat::Svg | ReportFormat::Png => report_path(&id, form.extension()),
    };
    let file = args.output.clone().unwrap_or_else(usual);
    if file.is_dir() {
        let inside = file.join(report_path(&id, form.extension()));
        return Err(usage_error(anyhow!(
            "'{}' is a folder; name a file, such as -o '{}'",
            file.display(),
            inside.display()
        )));
    }
    let document = page::document(store, &id)?;
    let ReportFile { bytes, hint, picture } = match form {
        ReportFormat::Html => html_report(&document)?,
        ReportFormat::Svg => {
            let svg = draw_svg(&document, &id)?;
            ReportFile::alone(svg, "opens in any browser, and embeds in any page")
        }
        ReportFormat::Png => {
            let svg = draw_svg(&document, &id)?;
            ReportFile::alone(picture::png(&svg)?, "shows wherever images do")
        }
        ReportFormat::Markdown => markdown_report(&document, &file)?,
    };
    if document.front.head.state == PageState::Running {
        eprintln!("torment: run {id} is still running; the report shows what there is so far");
    }
    if file == Path::new(STDOUT) {
        io::stdout().lock().write_all(&bytes)?;
        return Ok(exit::MET);
    }
    write(&file, &bytes)?;
    let size = Bytes(bytes.len() as u64);
    print_result(
        || {
            let wrote = Text::plain("  wrote ").with_span(Tone::Strong, file.display().to_string());
            vec![wrote.with_plain(format!(" ({size}): {hint}"))]
        },
        || {
            serde_json::json!({
                "schema": record::SCHEMA, "run": id, "file": file, "bytes": size.0, "picture": picture,
            })
        },
        common,
    )?;
    Ok(exit::MET)
}

fn html_report(document: &Document) -> Result<ReportFile, CommandError> {
    let text = page::freeze(document).ok_or_else(|| anyhow!("no report can be written: {NOT_BUILT}"))?;
    Ok(ReportFile::alone(text, "opens in any browser, without a network"))
}

/// The run's picture as SVG.
fn draw_svg(document: &Document, id: &RunId) -> Result<String, CommandError> {
    view::svg(document).ok_or_else(|| {
        usage_error(anyhow!(
            "run {id} has no picture: nothing was measured yet; -o FILE.html writes its page"
        ))
    })
}

/// The report as Markdown. Its image is written beside the file, named after that and the first picture.
fn markdown_report(document: &Document, file: &Path) -> Result<ReportFile, CommandError> {
    let front = &document.front;
    let alone = || ReportFile::alone(view::markdown(front, None), "Markdown, for a ticket or an article");
    let Some((image, first)) = view::svg(document).zip(front.pictures.first()) else { return Ok(alone()) };
    if file == Path::new(STDOUT) {
        eprintln!("torment: no picture is written; -o FILE.md writes it beside the text");
        return Ok(alone());
    }
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}.svg", first.id));
    let picture = file.with_file_name(&name);
    write(&picture, image.as_bytes())?;
    Ok(ReportFile {
        bytes: view::markdown(front, Some(&name.to_string_lossy())).into_bytes(),
        hint: format!("Markdown, with {} beside it", picture.display()),
        picture: Some(picture),
    })
}

/// Writes a file; the error names it.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    std::fs::write(file, bytes).with_context(|| format!("'{}' cannot be written", file.display()))?;
    Ok(())
}

/// In this folder, whatever a foreign store's ID contains.
pub fn report_path(id: &RunId, extension: &str) -> PathBuf {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let id: String = id.0.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    PathBuf::from(format!("run-{id}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_called_says_what_it_gets() {
        let form = |output: Option<&str>, markdown| {
            ReportFormat::of(&ReportArgs { run: None, output: output.map(PathBuf::from), markdown })
        };
        for (output, expected) in [
            (None, ReportFormat::Html),
            (Some("run"), ReportFormat::Html),
            (Some("-"), ReportFormat::Html),
            (Some("limit.SVG"), ReportFormat::Svg),
            (Some("limit.svg.png"), ReportFormat::Png),
            (Some("a.b/report.md"), ReportFormat::Markdown),
        ] {
            assert_eq!(form(output, false), expected, "{output:?}");
            assert_eq!(form(output, true), ReportFormat::Markdown, "{output:?}");
        }
    }

    #[test]
    fn a_name_stays_in_the_folder() {
        for (id, expected) in
            [("20261120-161502-k3f", "run-20261120-161502-k3f.html"), ("../a b", "run-___a_b.html")]
        {
            assert_eq!(report_path(&RunId(id.to_owned()), ".html"), Path::new(expected));
        }
    }
}
