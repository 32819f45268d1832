//! The report as JSON. Addresses are hexadecimal strings: many JSON readers keep only 53 bits of a number.

use super::hexadecimal;
use ::anatomy::{
    Agreement, CallPath, CallSite, CloneFlags, DisassembledLine, FunctionReport, Library, LiveCall, PathStep,
    SymbolName,
};
use serde_json::{Value, json};

/// Encodes everything known of one function.
pub fn call_json(report: &FunctionReport<'_>) -> Value {
    let (walk, libraries) = (&report.paths, report.libraries);
    let library = |library: &Library| {
        json!({
            "name": library.soname,
            "path": library.path.display().to_string(),
            "version": ::anatomy::libc_version(&library.bytes),
            "build_id": library.binary.build_id.as_deref().map(hexadecimal),
            "names_from": library.names.as_ref().map(|(path, _)| path.display().to_string()),
        })
    };
    json!({
        "schema": record::SCHEMA,
        "function": report.function.name(),
        "machine": walk.machine.to_string(),
        "program": libraries.program.display().to_string(),
        "program_is_static": libraries.is_static,
        "libraries": libraries.all.iter().map(library).collect::<Vec<_>>(),
        "libraries_missing": libraries.missing,
        "notes": libraries.notes,
        "chains": walk.paths.iter().map(chain).collect::<Vec<_>>(),
        "not_on_the_way": walk.bypassed,
        "read": {
            "functions": walk.functions,
            "instructions": walk.instructions,
            "depth": walk.depth,
            "unknown_calls": walk.unknown_calls,
            "cut_short": walk.cut_short,
        },
        "live": report.observation.call.as_ref().map(live_call),
        "not_shown_by": report.observation.others.iter()
            .map(|(program, why)| json!({ "program": program, "why": why }))
            .collect::<Vec<_>>(),
        "live_impossible": report.observation.unavailable,
        "verdict": verdict(report.verdict),
    })
}

fn verdict(verdict: Agreement) -> &'static str {
    match verdict {
        Agreement::Pass => "pass",
        Agreement::Differs => "differs",
        Agreement::NotObserved => "not_seen",
        Agreement::NoPath => "not_read",
    }
}

fn address(address: u64) -> String {
    format!("{address:#x}")
}

fn chain(chain: &CallPath) -> Value {
    let site = &chain.site;
    json!({
        "steps": chain.steps.iter().map(step).collect::<Vec<_>>(),
        "system_call": {
            "address": address(site.address),
            "code": site.lines.iter().map(line).collect::<Vec<_>>(),
            "number": site.number,
            "name": site.creation.name(),
            "flags": site.flags.as_ref().map(flags),
        },
    })
}

fn step(step: &PathStep) -> Value {
    let name = |name: &SymbolName| {
        json!({
            "symbol": name.symbol,
            "version": name.version,
            "default": name.default,
            "weak": name.weak,
            "exported": name.exported,
        })
    };
    let call = |call: &CallSite| json!({ "code": line(&call.line), "returns_to": call.returns.map(address) });
    json!({
        "library": step.library,
        "address": address(step.address),
        "names": step.names.iter().map(name).collect::<Vec<_>>(),
        "calls": step.calls.iter().map(call).collect::<Vec<_>>(),
    })
}

fn line(line: &DisassembledLine) -> Value {
    json!({ "address": address(line.address), "bytes": hexadecimal(&line.bytes), "text": line.text })
}

fn flags(flags: &CloneFlags) -> Value {
    let (known, rest) = flags.split_known();
    json!({
        "value": address(flags.bits | flags.signal),
        "names": known.iter().map(|flag| flag.name).collect::<Vec<_>>(),
        "unknown": (rest != 0).then(|| address(rest)),
        "signal": flags.signal_name(),
    })
}

fn live_call(call: &LiveCall) -> Value {
    json!({
        "command": call.command,
        "program": call.program.display().to_string(),
        "process": call.process,
        "address": call.address.map(address),
        "number": call.number,
        "name": call.creation.name(),
        "flags": call.flags.as_ref().map(flags),
        "chain": call.path_index,
        "returns_found": call.returns.map(|(found, _)| found),
        "returns": call.returns.map(|(_, of)| of),
        "checks": call.checks.iter()
            .map(|check| json!({ "of": check.item, "read": check.predicted, "seen": check.observed, "agrees": check.agrees }))
            .collect::<Vec<_>>(),
    })
}
