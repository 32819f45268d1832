//! `report`: the page of one run frozen into a file, the picture of what it came to, or both as words and an image.

use crate::args::{Common, ReportArgs};
use crate::page::NOT_BUILT;
use crate::{Failure, kept, result, wrong};
use anyhow::{Context, anyhow};
use record::RunId;
use runner::exit;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use units::Bytes;
use view::document::{Document, State};
use view::{Text, Tone};

/// Named instead of a file.
const STDOUT: &str = "-";

/// What a run is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Page,
    Picture,
    /// The same picture, for where no SVG is shown.
    Pixels,
    Markdown,
}

impl Form {
    /// The one asked for, or what the file's name says.
    fn of(args: &ReportArgs) -> Self {
        let named = args.output.as_deref().and_then(Path::extension);
        let ends = |extension: &str| named.is_some_and(|named| named.eq_ignore_ascii_case(extension));
        if args.markdown || ends("md") {
            Self::Markdown
        } else if ends("svg") {
            Self::Picture
        } else if ends("png") {
            Self::Pixels
        } else {
            Self::Page
        }
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Page => ".html",
            Self::Picture => ".svg",
            Self::Pixels => ".png",
            Self::Markdown => ".md",
        }
    }
}

/// What is to be written, and what else was.
struct Written {
    bytes: Vec<u8>,
    /// What can be done with it.
    opens: String,
    /// The image beside it.
    picture: Option<PathBuf>,
}

impl Written {
    /// With nothing beside it.
    fn alone(bytes: impl Into<Vec<u8>>, opens: &str) -> Self {
        Self { bytes: bytes.into(), opens: opens.to_owned(), picture: None }
    }
}

pub fn report(args: &ReportArgs, common: &Common) -> Result<u8, Failure> {
    let store = kept::existing(common)?;
    let id = store.find(args.run.as_deref().unwrap_or("last"))?;
    let form = Form::of(args);
    let usual = || match form {
        Form::Markdown => PathBuf::from(STDOUT),
        Form::Page | Form::Picture | Form::Pixels => named(&id, form.extension()),
    };
    let file = args.output.clone().unwrap_or_else(usual);
    if file.is_dir() {
        let inside = file.join(named(&id, form.extension()));
        return Err(wrong(anyhow!(
            "'{}' is a folder; name a file, such as -o '{}'",
            file.display(),
            inside.display()
        )));
    }
    let document = page::document(store, &id)?;
    let Written { bytes, opens, picture } = match form {
        Form::Page => frozen(&document)?,
        Form::Picture => {
            let svg = drawn(&document, &id)?;
            Written::alone(svg, "shows in any browser and on any page")
        }
        Form::Pixels => {
            let svg = drawn(&document, &id)?;
            Written::alone(picture::png(&svg)?, "shows wherever images do")
        }
        Form::Markdown => told(&document, &file)?,
    };
    if document.front.head.state == State::Running {
        eprintln!("torment: run {id} is still running; the report shows what there is so far");
    }
    if file == Path::new(STDOUT) {
        io::stdout().lock().write_all(&bytes)?;
        return Ok(exit::MET);
    }
    write(&file, &bytes)?;
    let size = Bytes(bytes.len() as u64);
    result(
        || {
            let wrote = Text::plain("  wrote ").and(Tone::Strong, file.display().to_string());
            vec![wrote.then(format!(" ({size}): {opens}"))]
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

fn frozen(document: &Document) -> Result<Written, Failure> {
    let text = page::freeze(document).ok_or_else(|| anyhow!("no report can be written: {NOT_BUILT}"))?;
    Ok(Written::alone(text, "opens in any browser, without a network"))
}

/// Its picture as SVG.
fn drawn(document: &Document, id: &RunId) -> Result<String, Failure> {
    view::svg(document).ok_or_else(|| {
        wrong(anyhow!("run {id} has no picture: nothing was measured yet; -o FILE.html writes its page"))
    })
}

/// Its words for this file. The image of its pictures is written beside that, under its name and that of the first of them.
fn told(document: &Document, file: &Path) -> Result<Written, Failure> {
    let front = &document.front;
    let alone = || Written::alone(view::markdown(front, None), "Markdown, for a ticket or an article");
    let Some((image, first)) = view::svg(document).zip(front.pictures.first()) else { return Ok(alone()) };
    if file == Path::new(STDOUT) {
        eprintln!("torment: no picture is written; -o FILE.md writes it beside the text");
        return Ok(alone());
    }
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{}.svg", first.id));
    let picture = file.with_file_name(&name);
    write(&picture, image.as_bytes())?;
    Ok(Written {
        bytes: view::markdown(front, Some(&name.to_string_lossy())).into_bytes(),
        opens: format!("Markdown, with {} beside it", picture.display()),
        picture: Some(picture),
    })
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(file, bytes).with_context(|| format!("'{}' cannot be written", file.display()))?;
    Ok(())
}

/// In this folder, whatever a store from elsewhere holds.
pub fn named(id: &RunId, extension: &str) -> PathBuf {
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
            Form::of(&ReportArgs { run: None, output: output.map(PathBuf::from), markdown })
        };
        for (output, expected) in [
            (None, Form::Page),
            (Some("run"), Form::Page),
            (Some("-"), Form::Page),
            (Some("limit.SVG"), Form::Picture),
            (Some("limit.svg.png"), Form::Pixels),
            (Some("a.b/report.md"), Form::Markdown),
        ] {
            assert_eq!(form(output, false), expected, "{output:?}");
            assert_eq!(form(output, true), Form::Markdown, "{output:?}");
        }
    }

    #[test]
    fn a_name_stays_in_the_folder() {
        for (id, expected) in
            [("20261120-161502-k3f", "run-20261120-161502-k3f.html"), ("../a b", "run-___a_b.html")]
        {
            assert_eq!(named(&RunId(id.to_owned()), ".html"), Path::new(expected));
        }
    }
}
