//! What a program or library is made of.

use super::hexadecimal;
use crate::figure_tables::wrap;
use crate::{Text, Tone};
use ::anatomy::{
    Binary, DynamicReason, FileDependencies, Linkage, NeededLibrary, Script, UndefinedSymbol, dynamic_reasons,
};
use serde_json::{Value, json};
use std::path::Path;

/// Formats a script file.
pub fn script_lines(path: &Path, script: &Script) -> Vec<Text> {
    let argument = script.argument.as_deref().map(|a| format!(" with {a}")).unwrap_or_default();
    let first =
        Text::plain("  ").with_span(Tone::Strong, path.display().to_string()).with_plain(": a script");
    if script.interpreter.is_empty() {
        return vec![
            first,
            Text::plain("  ").with_span(Tone::Warn, "its first line names no program to run it"),
        ];
    }
    vec![
        first,
        Text::plain(format!("  run by    {}{argument}", script.interpreter)),
        Text::new(Tone::Faint, format!("  torment explain binary {}  says what that is", script.interpreter)),
    ]
}

/// Encodes the same as JSON.
pub fn script_json(path: &Path, script: &Script) -> Value {
    json!({
        "schema": record::SCHEMA,
        "path": path.display().to_string(),
        "kind": "script",
        "interpreter": script.interpreter,
        "argument": script.argument,
    })
}

/// Formats a program or library.
pub fn binary_lines(parts: &FileDependencies) -> Vec<Text> {
    let binary = &parts.binary;
    let order = if binary.big_endian { ", big-endian" } else { "" };
    let mut lines = vec![
        Text::plain("  ")
            .with_span(Tone::Strong, parts.path.display().to_string())
            .with_plain(format!(": {}", kind_words(binary.kind)))
            .with_span(Tone::Faint, format!("  {}, {} bits{order}", binary.machine, binary.bits)),
    ];
    let field = |name: &str, value: &str| Text::plain(format!("  {name:<9} {value}"));
    lines.extend(binary.interpreter.as_deref().map(|loader| field("loader", loader)));
    lines.extend(binary.soname.as_deref().map(|name| field("its name", name)));
    lines.extend(binary.runpath.as_deref().map(|folders| field("looks in", &format!("{folders} (RUNPATH)"))));
    lines.extend(binary.rpath.as_deref().map(|folders| field("looks in", &format!("{folders} (RPATH)"))));
    for (n, needed) in parts.needed.iter().enumerate() {
        lines.extend(library(if n == 0 { "needs" } else { "" }, needed));
    }
    if !parts.unresolved.is_empty() && matches!(binary.kind, Linkage::Dynamic { .. } | Linkage::Library) {
        lines.extend(wrap("            ", &format!("elsewhere: {}", some(&parts.unresolved)), Tone::Faint));
    }
    lines.extend(unneeded(parts));
    lines.extend(why(binary));
    let stripped = match (binary.has_symbols, binary.has_debug) {
        (true, true) => "all names, and the lines of its source",
        (true, false) => "all names, no lines of its source",
        (false, true) => "the lines of its source only",
        (false, false) => "stripped: only what the loader needs",
    };
    lines.push(field("symbols", stripped));
    lines.extend(binary.build_id.as_deref().map(|id| field("build id", &hexadecimal(id))));
    for problem in &binary.problems {
        lines.extend(wrap("  ", &format!("not readable: {problem}"), Tone::Warn));
    }
    lines
}

fn kind_words(kind: Linkage) -> &'static str {
    match kind {
        Linkage::Static => "static program",
        Linkage::StaticPie => "static program, position-independent (static-pie)",
        Linkage::Dynamic { pie: true } => "dynamic program, position-independent (PIE)",
        Linkage::Dynamic { pie: false } => "dynamic program at fixed addresses",
        Linkage::Library => "shared library",
        Linkage::Object => "object file, not linked yet",
        Linkage::Core => "memory of a process that has ended (core dump)",
    }
}

fn library(head: &str, needed: &NeededLibrary) -> Vec<Text> {
    let line = Text::plain(format!("  {head:<9} ")).with_span(Tone::Strong, needed.soname.clone());
    let line = match &needed.path {
        Some(path) => line.with_span(Tone::Faint, format!("  {}", path.display())),
        None => line.with_span(Tone::Bad, "  not found here: the program would not start"),
    };
    let gives = match needed.provides.len() {
        0 => "nothing of it by name".to_owned(),
        n => format!("{n} of its symbols: {}", some(&needed.provides)),
    };
    let mut lines = vec![line];
    lines.extend(wrap("            ", &gives, Tone::Plain));
    lines
}

/// What a static program or an object file does without.
fn unneeded(parts: &FileDependencies) -> Vec<Text> {
    let binary = &parts.binary;
    match (&binary.undefined, binary.kind) {
        (None, _) => wrap("  ", "it does not say which symbols it asks for (no section heads)", Tone::Warn),
        (Some(_), Linkage::Static | Linkage::StaticPie) if parts.needed.is_empty() => {
            vec![
                Text::plain("  needs     ")
                    .with_span(Tone::Good, "nothing")
                    .with_plain(": no loader, no library"),
            ]
        }
        (Some(wanted), Linkage::Object) => {
            let names: Vec<String> = wanted.iter().map(|symbol| symbol.name.clone()).collect();
            wrap("  ", &format!("asks for {} symbols: {}", names.len(), some(&names)), Tone::Plain)
        }
        _ => Vec::new(),
    }
}

fn why(binary: &Binary) -> Vec<Text> {
    let reasons = dynamic_reasons(binary);
    let head = (!reasons.is_empty()).then(|| Text::new(Tone::Faint, "  why not static"));
    let reasons = reasons.iter().flat_map(|reason| wrap("    ", &reason_text(reason), Tone::Plain));
    head.into_iter().chain(reasons).collect()
}

fn reason_text(reason: &DynamicReason) -> String {
    match reason {
        DynamicReason::Library { soname, description: Some(what) } => format!("{soname}: {what}"),
        DynamicReason::Library { soname, description: None } => {
            format!("{soname}: a library beside the C library; it would have to be linked in as well")
        }
        DynamicReason::NameServices { functions } => format!(
            "{}: glibc looks up names, and converts texts, by libraries that it loads while the program runs; \
             linked statically it would still need them, of the very same version",
            functions.join(", ")
        ),
        DynamicReason::LoadsAtRuntime { functions } => format!(
            "{}: it loads libraries itself, which a static program can hardly do",
            functions.join(", ")
        ),
        DynamicReason::OnlyLibc => {
            "only because it was linked so: it needs nothing but the C library (cc -static)".to_owned()
        }
    }
}

fn reason_json(reason: &DynamicReason) -> Value {
    match reason {
        DynamicReason::Library { soname, description: what } => {
            json!({ "kind": "library", "library": soname, "what": what })
        }
        DynamicReason::NameServices { functions } => json!({ "kind": "names", "functions": functions }),
        DynamicReason::LoadsAtRuntime { functions } => json!({ "kind": "loads", "functions": functions }),
        DynamicReason::OnlyLibc => json!({ "kind": "only_libc" }),
    }
}

/// Encodes the same as JSON.
pub fn binary_json(parts: &FileDependencies) -> Value {
    let binary = &parts.binary;
    let undefined = binary.undefined.as_ref().map(|all| {
        let one = |symbol: &UndefinedSymbol| {
            json!({
                "name": symbol.name,
                "version": symbol.version,
                "library": symbol.library,
                "weak": symbol.weak,
            })
        };
        all.iter().map(one).collect::<Vec<_>>()
    });
    let needed = parts.needed.iter().map(|needed| {
        json!({ "name": needed.soname, "path": needed.path.as_ref().map(|p| p.display().to_string()), "gives": needed.provides })
    });
    json!({
        "schema": record::SCHEMA,
        "path": parts.path.display().to_string(),
        "kind": binary.kind.name(),
        "position_independent": matches!(binary.kind, Linkage::StaticPie | Linkage::Dynamic { pie: true } | Linkage::Library),
        "machine": binary.machine.to_string(),
        "bits": binary.bits,
        "big_endian": binary.big_endian,
        "interpreter": binary.interpreter,
        "soname": binary.soname,
        "runpath": binary.runpath,
        "rpath": binary.rpath,
        "needed": needed.collect::<Vec<_>>(),
        "undefined": undefined,
        "elsewhere": parts.unresolved,
        "why_dynamic": dynamic_reasons(binary).iter().map(reason_json).collect::<Vec<_>>(),
        "has_symbols": binary.has_symbols,
        "has_debug": binary.has_debug,
        "build_id": binary.build_id.as_deref().map(hexadecimal),
        "not_readable": binary.problems,
    })
}

const MAX_NAMED: usize = 8;

fn some(names: &[String]) -> String {
    let mut text = names.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        text.push_str(", …");
    }
    text
}
