//! `report`: the page of one run, or the picture of what it came to, frozen into a file.

use crate::args::{Common, ReportArgs};
use crate::page::NOT_BUILT;
use crate::{Failure, kept, result, wrong};
use anyhow::{Context, anyhow};
use record::RunId;
use runner::exit;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use units::Bytes;
use view::document::State;
use view::{Text, Tone};

pub fn report(args: &ReportArgs, common: &Common) -> Result<u8, Failure> {
    let store = kept::open(common)?;
    let id = store.find(args.run.as_deref().unwrap_or("last"))?;
    let file = args.output.clone().unwrap_or_else(|| named(&id, ".html"));
    if file.is_dir() {
        let inside = file.join(named(&id, ".html"));
        return Err(wrong(anyhow!(
            "'{}' is a folder; name a file, such as -o '{}'",
            file.display(),
            inside.display()
        )));
    }
    let document = page::document(store, &id)?;
    let is_picture = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    let (written, opens) = if is_picture {
        let picture = view::svg(&document.front).ok_or_else(|| {
            wrong(anyhow!(
                "run {id} has no picture: only a search and an experiment have one; -o FILE.html writes its page"
            ))
        })?;
        (picture, "shows in any browser and on any page")
    } else {
        let html = page::freeze(&document).ok_or_else(|| anyhow!("no report can be written: {NOT_BUILT}"))?;
        (html, "opens in any browser, without a network")
    };
    if document.front.head.state == State::Running {
        eprintln!("torment: run {id} is still running; the report shows what there is so far");
    }
    if file == Path::new("-") {
        io::stdout().lock().write_all(written.as_bytes())?;
        return Ok(exit::MET);
    }
    std::fs::write(&file, &written).with_context(|| format!("'{}' cannot be written", file.display()))?;
    let size = Bytes(written.len() as u64);
    result(
        || {
            let wrote = Text::plain("  wrote ").and(Tone::Strong, file.display().to_string());
            vec![wrote.then(format!(" ({size}): {opens}"))]
        },
        || serde_json::json!({ "schema": record::SCHEMA, "run": id, "file": file, "bytes": size.0 }),
        common,
    )?;
    Ok(exit::MET)
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
    fn a_name_stays_in_the_folder() {
        for (id, expected) in
            [("20261120-161502-k3f", "run-20261120-161502-k3f.html"), ("../a b", "run-___a_b.html")]
        {
            assert_eq!(named(&RunId(id.to_owned()), ".html"), Path::new(expected));
        }
    }
}
