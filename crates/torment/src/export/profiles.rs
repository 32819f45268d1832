//! A profile in other tools' formats: one file, or standard output.

use super::write_error;
use crate::args::{CommonArgs, ProfileForm};
use crate::{CommandError, paper, usage_error};
use anyhow::{Context, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use record::{Event, Profile, RunId};
use runner::exit;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use store::Store;
use tui::print;
use units::Bytes;
use view::{Text, Tone};

/// Writes the last profile of a run.
pub fn export(
    store: &Store,
    id: &RunId,
    form: ProfileForm,
    output: Option<&Path>,
    common: &CommonArgs,
) -> Result<u8, CommandError> {
    let profile = last(store, id)?
        .ok_or_else(|| usage_error(anyhow!("run {id} has no profile; torment profile PID makes one")))?;
    let (bytes, ending) = encode(form, &profile)?;
    let named = || PathBuf::from(format!("run-{id}.{ending}"));
    let path = output.map_or_else(named, Path::to_path_buf);
    if path == Path::new("-") {
        if form == ProfileForm::Pprof && io::stdout().is_terminal() {
            return Err(usage_error(anyhow!(
                "pprof's form is not for a terminal: name a file, -o profile.pb.gz"
            )));
        }
        io::stdout().write_all(&bytes).with_context(|| write_error(None))?;
        return Ok(exit::MET);
    }
    std::fs::write(&path, &bytes).with_context(|| write_error(Some(&path)))?;
    let line = Text::plain("  wrote ").with_span(Tone::Strong, path.display().to_string());
    let line = line.with_plain(format!(" ({})", Bytes(bytes.len() as u64)));
    print(&mut io::stdout(), &[line], paper(io::stdout().is_terminal(), common))?;
    Ok(exit::MET)
}

fn last(store: &Store, id: &RunId) -> Result<Option<Profile>, CommandError> {
    let mut last = None;
    for event in store.events(id)? {
        if let Event::Profiled { profile } = event? {
            last = Some(*profile);
        }
    }
    Ok(last)
}

/// The profile in this form, and the ending of its file.
fn encode(form: ProfileForm, profile: &Profile) -> io::Result<(Vec<u8>, &'static str)> {
    Ok(match form {
        ProfileForm::Folded => (stacks::format_folded(profile).into_bytes(), "folded"),
        ProfileForm::Speedscope => {
            (stacks::to_speedscope(profile).to_string().into_bytes(), "speedscope.json")
        }
        ProfileForm::Pprof => {
            let mut packed = GzEncoder::new(Vec::new(), Compression::default());
            packed.write_all(&stacks::encode_pprof(profile))?;
            (packed.finish()?, "pb.gz")
        }
    })
}
