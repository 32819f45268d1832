//! `plan`: plan files made of something else, and checked.

use crate::args::{self, Common, Format, Output, PlanAction, variable};
use crate::{Failure, bytes, result, wrong};
use anyhow::{Context, anyhow};
use import::{HarOptions, Imported, OpenApiOptions};
use plan::{Command, Draft, Key};
use runner::exit;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use view::Text;

pub fn plan(action: &PlanAction, common: &Common) -> Result<u8, Failure> {
    match action {
        PlanAction::FromCurl { command, output } => {
            let command = if command == "-" { text("-")? } else { command.clone() };
            write(import::from_curl(&command), output)
        }
        PlanAction::FromHar { file, include_assets, origin, output } => {
            let options = HarOptions { include_assets: *include_assets, origin: origin.clone() };
            write(import::from_har(&text(file)?, &options), output)
        }
        PlanAction::FromOpenapi { file, include_writes, base, output } => {
            let options = OpenApiOptions { include_writes: *include_writes, base: base.clone() };
            write(import::from_openapi(&text(file)?, &options), output)
        }
        PlanAction::Check { file } => check(file, common),
        PlanAction::Reference => refer(common),
    }
}

/// A file, or standard input.
fn text(file: &str) -> Result<String, Failure> {
    let read = if file == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|e| format!("cannot read standard input: {e}"))
    } else {
        bytes(file)
    };
    args::text(read, file).map_err(|why| wrong(anyhow!(why)))
}

/// The plan to where it was asked for, what it does not say to standard error.
fn write(imported: Result<Imported, import::Error>, output: &Output) -> Result<u8, Failure> {
    let imported = imported.map_err(wrong)?;
    match &output.output {
        None => io::stdout().lock().write_all(imported.plan.as_bytes())?,
        Some(path) => {
            let shown = path.display();
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let mut file = file.map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => {
                    wrong(anyhow!("'{shown}' exists already: remove it, or choose another name"))
                }
                _ => wrong(anyhow!("cannot write '{shown}': {e}")),
            })?;
            file.write_all(imported.plan.as_bytes()).with_context(|| format!("cannot write '{shown}'"))?;
        }
    }
    for note in &imported.notes {
        eprintln!("torment: {note}");
    }
    Ok(exit::MET)
}

/// All that can be said.
fn refer(common: &Common) -> Result<u8, Failure> {
    let page = plan::reference();
    let mut out = io::stdout().lock();
    match common.format {
        Format::Json => {
            writeln!(out, "{}", serde_json::json!({ "schema": record::SCHEMA, "markdown": page }))?;
        }
        _ => out.write_all(page.as_bytes())?,
    }
    Ok(exit::MET)
}

/// Reads the plan as `run` and `find` would, with all the files it names.
fn check(file: &str, common: &Common) -> Result<u8, Failure> {
    let draft = Draft::from_toml(if file == "-" { "plan" } else { file }, &text(file)?).map_err(wrong)?;
    let mut plan = draft.check(Command::Find, &mut bytes).map_err(wrong)?;
    if [Key::Rate, Key::Stages, Key::Connections, Key::Requests].iter().any(|&key| draft.text(key).is_some())
    {
        plan = draft.check(Command::Run, &mut bytes).map_err(wrong)?;
    }
    if draft.is_experiment() {
        plan = draft.check(Command::Try, &mut bytes).map_err(wrong)?;
    }
    let mut missing = Vec::new();
    let variables = |name: &str| {
        // It is for the run: a plan can be checked by who does not know its secrets.
        Ok(variable(name).unwrap_or_else(|why| {
            missing.push(why);
            "unknown".to_owned()
        }))
    };
    plan.bind(
        |path| std::fs::read_to_string(path).map_err(|e| format!("cannot read '{path}': {e}")),
        variables,
    )
    .map_err(wrong)?;
    let lines = || plan.describe().into_iter().map(Text::plain).collect();
    result(lines, || serde_json::json!({ "schema": record::SCHEMA, "plan": plan.to_toml() }), common)?;
    missing.sort();
    missing.dedup();
    for why in missing {
        eprintln!("torment: {why}");
    }
    Ok(exit::MET)
}
