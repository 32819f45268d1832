//! `plan`: imports, checks and documents plan files.

use crate::args::{self, CommonArgs, OutputFormat, PlanAction, PlanOutput, env_variable};
use crate::{CommandError, print_result, read_plan_file, unreadable, usage_error};
use anyhow::{Context, anyhow};
use import::{HarOptions, ImportedPlan, OpenApiOptions};
use plan::{Draft, Key, PlanCommand};
use runner::exit;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use view::Text;

pub fn plan(action: &PlanAction, common: &CommonArgs) -> Result<u8, CommandError> {
    match action {
        PlanAction::FromCurl { command, output } => {
            let command = if command == "-" { read_text("-")? } else { command.clone() };
            write(import::from_curl(&command), output)
        }
        PlanAction::FromHar { file, include_assets, origin, output } => {
            let options = HarOptions { include_assets: *include_assets, origin: origin.clone() };
            write(import::from_har(&read_text(file)?, &options), output)
        }
        PlanAction::FromOpenapi { file, include_writes, base, output } => {
            let options = OpenApiOptions { include_writes: *include_writes, base: base.clone() };
            write(import::from_openapi(&read_text(file)?, &options), output)
        }
        PlanAction::Check { file } => check(file, common),
        PlanAction::Reference => print_reference(common),
    }
}

/// A file, or standard input.
fn read_text(file: &str) -> Result<String, CommandError> {
    let read = if file == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes).map_err(|e| format!("cannot read standard input: {e}"))
    } else {
        read_plan_file(file)
    };
    args::text(read, file).map_err(|why| usage_error(anyhow!(why)))
}

/// Writes the plan to its output, and what it lacks to standard error.
fn write(imported: Result<ImportedPlan, import::Error>, output: &PlanOutput) -> Result<u8, CommandError> {
    let imported = imported.map_err(usage_error)?;
    match &output.output {
        None => io::stdout().lock().write_all(imported.plan.as_bytes())?,
        Some(path) => {
            let shown = path.display();
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let mut file = file.map_err(|e| match e.kind() {
                io::ErrorKind::AlreadyExists => {
                    usage_error(anyhow!("'{shown}' exists already: remove it, or choose another name"))
                }
                _ => usage_error(anyhow!("cannot write '{shown}': {e}")),
            })?;
            file.write_all(imported.plan.as_bytes()).with_context(|| format!("cannot write '{shown}'"))?;
        }
    }
    for note in &imported.notes {
        eprintln!("torment: {note}");
    }
    Ok(exit::MET)
}

/// Reference of all keys.
fn print_reference(common: &CommonArgs) -> Result<u8, CommandError> {
    let page = plan::reference();
    let mut out = io::stdout().lock();
    match common.format {
        OutputFormat::Json => {
            writeln!(out, "{}", serde_json::json!({ "schema": record::SCHEMA, "markdown": page }))?;
        }
        _ => out.write_all(page.as_bytes())?,
    }
    Ok(exit::MET)
}

/// Reads the plan as `run` and `find` would, with all the files it names.
fn check(file: &str, common: &CommonArgs) -> Result<u8, CommandError> {
    let draft =
        Draft::from_toml(if file == "-" { "plan" } else { file }, &read_text(file)?).map_err(usage_error)?;
    let mut plan = draft.check(PlanCommand::Find, &mut read_plan_file).map_err(usage_error)?;
    if [Key::Rate, Key::Stages, Key::Connections, Key::Requests].iter().any(|&key| draft.text(key).is_some())
    {
        plan = draft.check(PlanCommand::Run, &mut read_plan_file).map_err(usage_error)?;
    }
    if draft.is_experiment() {
        plan = draft.check(PlanCommand::Try, &mut read_plan_file).map_err(usage_error)?;
    }
    let mut missing = Vec::new();
    let variables = |name: &str| {
        // Only a run needs it: a plan can be checked without knowing its secrets.
        Ok(env_variable(name).unwrap_or_else(|why| {
            missing.push(why);
            "unknown".to_owned()
        }))
    };
    plan.bind(|path| std::fs::read_to_string(path).map_err(|error| unreadable(path, &error)), variables)
        .map_err(usage_error)?;
    let lines = || plan.describe().into_iter().map(Text::plain).collect();
    print_result(lines, || serde_json::json!({ "schema": record::SCHEMA, "plan": plan.to_toml() }), common)?;
    missing.sort();
    missing.dedup();
    for why in missing {
        eprintln!("torment: {why}");
    }
    Ok(exit::MET)
}
