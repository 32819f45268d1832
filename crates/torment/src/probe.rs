//! `probe`: what the machine costs.

use crate::args::{CommonArgs, ProbeArgs};
use crate::label::with_label;
use crate::measure::{RunReporter, carry_out, open_run_store};
use crate::{CommandError, page, print_result};
use anyhow::Context;
use probe::{CloneVmDemo, ProbeOptions, ProbeSettings, ProbeTable};
use record::Event;
use runner::{ProbeRequest, Sink, exit};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use units::Nanos;
use view::{Text, Tone};

/// Length of a block: long enough that its start does not matter, short enough that blocks of all figures are close in
/// time.
const BLOCK: Nanos = Nanos::from_millis(50);

pub fn probe(args: &ProbeArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let asked = |table: &dyn ProbeTable| {
        args.tables.is_empty() || args.tables.iter().any(|name| name == "all" || name == table.name())
    };
    let options = ProbeOptions { like_eliben: args.like_eliben, runtimes: args.runtimes };
    let request = ProbeRequest {
        tables: probe::tables(options).into_iter().filter(|table| asked(table.as_ref())).collect(),
        settings: ProbeSettings {
            blocks: args.blocks,
            block_time: BLOCK,
            seed: args.seed,
            program: std::env::current_exe()?,
        },
        words: words(args),
    };
    let cannot = |path: &Path| format!("'{}' cannot be written", path.display());
    let create = |path: &Path| File::create(path).map(BufWriter::new).with_context(|| cannot(path));
    let mut save = args.save.as_deref().map(create).transpose()?;
    let store = open_run_store(args.keep.no_store, common)?;
    let publishers = page::start_publishers(&args.keep.page, store.as_ref(), &[], common)?;
    let code = carry_out(store, publishers, common, |reporter, stop| {
        let mut sink = SavingSink { reporter, file: save.as_mut() };
        runner::probe(&request, &mut with_label(&args.keep.label, &mut sink), stop)
    })?;
    if let (Some(mut file), Some(path)) = (save, &args.save) {
        file.flush().with_context(|| cannot(path))?;
    }
    Ok(code)
}

/// As typed, except for where it is saved.
fn words(args: &ProbeArgs) -> String {
    let mut words = args.tables.clone();
    words.extend(args.like_eliben.then(|| "--like-eliben".to_owned()));
    words.extend(args.runtimes.then(|| "--runtimes".to_owned()));
    words.push(format!("--blocks {} --seed {}", args.blocks, args.seed));
    words.join(" ")
}

/// Also writes events to a file, one line of JSON each.
struct SavingSink<'a> {
    reporter: &'a mut RunReporter,
    file: Option<&'a mut BufWriter<File>>,
}

impl Sink for SavingSink<'_> {
    fn event(&mut self, event: &Event) {
        self.reporter.event(event);
        if let Some(file) = &mut self.file {
            // A failure here recurs at the flush, and is reported then.
            let _ = serde_json::to_writer(&mut **file, event).map(|()| file.write_all(b"\n"));
        }
    }
}

/// Shows what CLONE_VM does, with two children.
pub fn explain_clone(common: &CommonArgs) -> Result<u8, CommandError> {
    let shown = probe::demonstrate_clone_vm(&std::env::current_exe()?)?;
    print_result(|| shown.iter().flat_map(clone_lines).collect(), || clone_json(&shown), common)?;
    Ok(exit::MET)
}

fn clone_lines(shown: &CloneVmDemo) -> Vec<Text> {
    let CloneVmDemo { call, flags, before, written, child_value: found, parent_value: seen } = shown;
    let meaning = if shown.is_shared() {
        "both share one memory, as threads do: what one writes, the other sees"
    } else {
        "the child has its own copy, as after fork(): the parent does not see its writes"
    };
    vec![
        Text::plain("  ").with_span(Tone::Strong, format!("{call}({})", flags.join(" | "))),
        Text::plain(format!(
            "    the variable held {before}; the child wrote {written} and found {found} there; its parent then found {seen}"
        )),
        Text::plain("    ").with_span(Tone::Faint, meaning),
    ]
}

fn clone_json(shown: &[CloneVmDemo]) -> serde_json::Value {
    let one = |shown: &CloneVmDemo| {
        serde_json::json!({
            "call": shown.call,
            "flags": shown.flags,
            "before": shown.before,
            "written": shown.written,
            "child_found": shown.child_value,
            "parent_found": shown.parent_value,
            "shared": shown.is_shared(),
        })
    };
    serde_json::json!({ "schema": record::SCHEMA, "clone": shown.iter().map(one).collect::<Vec<_>>() })
}
