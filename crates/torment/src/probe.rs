//! `probe`: what the machine costs.

use crate::args::{Common, ProbeArgs};
use crate::label::labelled;
use crate::measure::{Faces, carry_out, store};
use crate::{Failure, page, result};
use anyhow::Context;
use probe::{Demonstration, Effort, Options, Table};
use record::Event;
use runner::{Probing, Sink, exit};
use std::fs::File;
use std::io::{BufWriter, Write};
use units::Nanos;
use view::{Text, Tone};

/// What a block takes: long enough that starting it does not matter, short enough that blocks of all figures are close in time.
const BLOCK: Nanos = Nanos::from_millis(50);

pub fn probe(args: &ProbeArgs, common: &Common) -> Result<u8, Failure> {
    let asked = |table: &dyn Table| {
        args.tables.is_empty() || args.tables.iter().any(|name| name == "all" || name == table.name())
    };
    let options = Options { like_eliben: args.like_eliben, runtimes: args.runtimes };
    let probing = Probing {
        tables: probe::tables(options).into_iter().filter(|table| asked(table.as_ref())).collect(),
        effort: Effort {
            blocks: args.blocks,
            block: BLOCK,
            seed: args.seed,
            program: std::env::current_exe()?,
        },
        words: words(args),
    };
    let mut save = match &args.save {
        Some(path) => {
            let file =
                File::create(path).with_context(|| format!("'{}' cannot be written", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let store = store(args.keep.no_store, common)?;
    let beside = page::beside(&args.keep.page, store.as_ref(), &[], common)?;
    let code = carry_out(store, beside, common, |faces, stop| {
        let mut sink = Saving { faces, file: save.as_mut() };
        runner::probe(&probing, env!("CARGO_PKG_VERSION"), &mut labelled(&args.keep.label, &mut sink), stop)
    })?;
    if let (Some(mut file), Some(path)) = (save, &args.save) {
        file.flush().with_context(|| format!("'{}' cannot be written", path.display()))?;
    }
    Ok(code)
}

/// As typed, but for where it is kept.
fn words(args: &ProbeArgs) -> String {
    let mut words = args.tables.clone();
    words.extend(args.like_eliben.then(|| "--like-eliben".to_owned()));
    words.extend(args.runtimes.then(|| "--runtimes".to_owned()));
    words.push(format!("--blocks {} --seed {}", args.blocks, args.seed));
    words.join(" ")
}

/// Events go to a file as well, a line of JSON each.
struct Saving<'a> {
    faces: &'a mut Faces,
    file: Option<&'a mut BufWriter<File>>,
}

impl Sink for Saving<'_> {
    fn event(&mut self, event: &Event) {
        self.faces.event(event);
        if let Some(file) = &mut self.file {
            // What fails here fails again when it is flushed, and is said then.
            let _ = serde_json::to_writer(&mut **file, event).map(|()| file.write_all(b"\n"));
        }
    }
}

/// What CLONE_VM does, shown by two children.
pub fn explain_clone(common: &Common) -> Result<u8, Failure> {
    let shown = probe::demonstrate(&std::env::current_exe()?)?;
    result(|| shown.iter().flat_map(clone_lines).collect(), || clone_json(&shown), common)?;
    Ok(exit::MET)
}

fn clone_lines(shown: &Demonstration) -> Vec<Text> {
    let Demonstration { call, flags, before, written, found, seen } = shown;
    let meaning = if shown.shared() {
        "both share one memory, as threads do: what one writes, the other sees"
    } else {
        "the child has its own copy, as after fork(): the parent does not see its writes"
    };
    vec![
        Text::plain("  ").and(Tone::Strong, format!("{call}({})", flags.join(" | "))),
        Text::plain(format!(
            "    the variable held {before}; the child wrote {written} and found {found} there; its parent then found {seen}"
        )),
        Text::plain("    ").and(Tone::Faint, meaning),
    ]
}

fn clone_json(shown: &[Demonstration]) -> serde_json::Value {
    let one = |shown: &Demonstration| {
        serde_json::json!({
            "call": shown.call,
            "flags": shown.flags,
            "before": shown.before,
            "written": shown.written,
            "child_found": shown.found,
            "parent_found": shown.seen,
            "shared": shown.shared(),
        })
    };
    serde_json::json!({ "schema": record::SCHEMA, "clone": shown.iter().map(one).collect::<Vec<_>>() })
}
