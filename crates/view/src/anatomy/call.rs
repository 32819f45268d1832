//! The call path from a C library function to its system call, as text.

use crate::figure_tables::wrap;
use crate::{Text, Tone};
use ::anatomy::{
    Agreement, CallCheck, CallPath, CloneFlags, CreationSyscall, FunctionReport, LiveCall, PathStep,
};

/// Columns before the instruction's text.
const BYTES_WIDTH: usize = 30;
/// Of paths after the first, only this many of the last functions are named.
const TAIL_STEPS: usize = 2;

/// Formats everything known of one function.
pub fn call_lines(report: &FunctionReport<'_>) -> Vec<Text> {
    let mut lines = head(report);
    match report.paths.paths.first() {
        Some(chain) => {
            lines.push(Text::empty());
            lines.push(Text::new(Tone::Faint, "  the path, read from its machine code"));
            lines.extend(path_lines(chain, report));
            lines.extend(kernel(chain, report));
            lines.extend(notes(report));
        }
        None => lines.extend(lost(report)),
    }
    lines.push(Text::empty());
    lines.extend(live(report));
    lines.extend(verdict(report));
    lines
}

fn head(report: &FunctionReport<'_>) -> Vec<Text> {
    let libraries = report.libraries;
    let first = report.paths.paths.first().and_then(|chain| chain.steps.first());
    let library = libraries.all.get(first.map_or(0, |step| step.library));
    let program = libraries.program.display();
    let path = library.map(|library| library.path.display().to_string()).unwrap_or_default();
    let version = library.and_then(|library| ::anatomy::libc_version(&library.bytes));
    let what = version.map(|version| format!("{version}, ")).unwrap_or_default();
    let mut lines = vec![
        Text::plain("  ")
            .with_span(Tone::Strong, report.function.name())
            .with_plain(format!(" in {path}"))
            .with_span(Tone::Faint, format!("  {what}{}", report.paths.machine)),
    ];
    let how = if libraries.is_static {
        format!("{program} is static and carries its C library in itself")
    } else if libraries.is_library {
        "the library that was named".to_owned()
    } else {
        format!("the library that the loader takes for {program}")
    };
    lines.push(Text::new(Tone::Faint, format!("  {how}")));
    lines.extend(libraries.notes.iter().flat_map(|note| wrap("  ", note, Tone::Faint)));
    lines
}

/// Each function with the call that leads on, then the straight-line code up to the system call.
fn path_lines(chain: &CallPath, report: &FunctionReport<'_>) -> Vec<Text> {
    let mut lines = Vec::new();
    for (n, step) in chain.steps.iter().enumerate() {
        lines.push(function(step, chain, report));
        if let Some(call) = step.calls.first() {
            let next = chain.steps.get(n + 1).map(called).unwrap_or_default();
            let verb = if call.returns.is_some() { "calls" } else { "jumps to" };
            let from = call.line.address.checked_sub(step.address);
            lines.push(instruction(from, &call.line, &format!("{verb} {next}"), Tone::Plain));
        }
    }
    let start = chain.steps.last().map(|step| step.address);
    for line in &chain.site.lines {
        let tone = if line.address == chain.site.address { Tone::Strong } else { Tone::Plain };
        let from = start.and_then(|start| line.address.checked_sub(start));
        lines.push(instruction(from, line, &spaced(&line.text), tone));
    }
    lines
}

fn called(step: &PathStep) -> String {
    step.names.first().map_or_else(|| format!("{:#x}", step.address), |name| name.symbol.clone())
}

fn function(step: &PathStep, chain: &CallPath, report: &FunctionReport<'_>) -> Text {
    let mut line = Text::plain("  ");
    line = match step.names.first() {
        Some(name) => line.with_span(Tone::Strong, name.to_string()),
        None => line
            .with_span(Tone::Strong, format!("{:#x}", step.address))
            .with_plain(" (its name is not in the file)"),
    };
    let mut about = Vec::new();
    if !step.names.is_empty() {
        about.push(format!("at {:#x}", step.address));
    }
    if step.names.first().is_some_and(|name| name.weak) {
        about.push("weak".to_owned());
    }
    let mut others: Vec<&str> = step.names.iter().skip(1).map(|name| name.symbol.as_str()).collect();
    others.retain(|other| step.names.first().is_some_and(|name| name.symbol != **other));
    // glibc's internal aliases add nothing.
    others.retain(|other| !other.starts_with("__GI_"));
    others.dedup();
    if !others.is_empty() {
        about.push(format!("= {}", others.join(" = ")));
    }
    let first = chain.steps.first().map(|step| step.library);
    if first != Some(step.library)
        && let Some(library) = report.libraries.all.get(step.library)
    {
        about.push(format!("in {}", library.soname));
    }
    if about.is_empty() {
        return line;
    }
    line.with_span(Tone::Faint, format!("  {}", about.join(", ")))
}

fn instruction(from: Option<u64>, line: &::anatomy::DisassembledLine, text: &str, tone: Tone) -> Text {
    let at = from.map_or_else(|| format!("{:#x}", line.address), |from| format!("+{from:#x}"));
    let bytes: Vec<String> = line.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Text::new(Tone::Faint, format!("    {at:<8} {:<BYTES_WIDTH$} ", bytes.join(" ")))
        .with_span(tone, text.to_owned())
}

/// Mnemonic and operands in two columns.
fn spaced(text: &str) -> String {
    match text.split_once([' ', '\t']) {
        Some((name, rest)) => format!("{name:<7} {}", rest.trim_start()),
        None => text.to_owned(),
    }
}

/// The system call and its meaning.
fn kernel(chain: &CallPath, report: &FunctionReport<'_>) -> Vec<Text> {
    let site = &chain.site;
    let number = format!("number {} ({:#x})", site.number, site.number);
    let seen = report.observation.call.as_ref().and_then(|seen| seen.flags);
    let (flags, from) = match (site.flags, site.creation) {
        (Some(flags), _) => (Some(flags), format!("flags {:#x}", flags.bits | flags.signal)),
        (None, CreationSyscall::Clone3) => (seen, "flags in a structure in memory; as seen below".to_owned()),
        (None, CreationSyscall::Clone) => (seen, "flags from its caller; as seen below".to_owned()),
        (None, _) => (None, "without flags".to_owned()),
    };
    let from = if site.flags.is_none() && seen.is_none() {
        from.replace("; as seen below", ", which only a run shows")
    } else {
        from
    };
    let mut lines = vec![
        Text::plain("  ")
            .with_span(Tone::Strong, format!("kernel: {}", site.creation.name()))
            .with_plain(format!(", {number}, {from}")),
    ];
    lines.extend(flags.iter().flat_map(meanings));
    let made = match site.creation {
        CreationSyscall::Fork => Some("    a process with a copy of the memory"),
        CreationSyscall::Vfork => Some("    a process in the same memory, for which the parent waits"),
        CreationSyscall::Clone | CreationSyscall::Clone3 => None,
    };
    lines.extend(made.map(Text::plain));
    lines
}

fn meanings(flags: &CloneFlags) -> Vec<Text> {
    let (known, rest) = flags.split_known();
    let mut lines: Vec<Text> = known.iter().map(|flag| meaning(flag.name, flag.meaning)).collect();
    if rest != 0 {
        lines.push(meaning(&format!("{rest:#x}"), "not known here"));
    }
    match flags.signal_name() {
        Some(name) => lines.push(meaning(&name, "the parent gets it when the child ends")),
        None => lines.push(meaning("no signal", "none is sent when it ends")),
    }
    lines
}

fn meaning(name: &str, meaning: &str) -> Text {
    Text::plain(format!("    {name:<21} ")).with_span(Tone::Faint, meaning)
}

fn notes(report: &FunctionReport<'_>) -> Vec<Text> {
    let mut lines = Vec::new();
    for name in &report.paths.bypassed {
        let text = format!("The exported {name} is not on the path: the system call is made in place.");
        lines.extend(wrap("  ", &text, Tone::Plain));
    }
    for other in report.paths.paths.iter().skip(1) {
        let names: Vec<String> = other.steps.iter().map(called).collect();
        // Mostly the same: show only where they diverge.
        let from = names.len().saturating_sub(TAIL_STEPS);
        let text = format!(
            "Also reachable: {}, number {}, by {} at {:#x}, in case the kernel refuses the first.",
            other.site.creation.name(),
            other.site.number,
            names.get(from..).unwrap_or_default().join(" → "),
            other.site.address
        );
        lines.extend(wrap("  ", &text, Tone::Faint));
    }
    if let Some(path) = names_from(report) {
        lines.extend(wrap("  ", &format!("Names that are not exported come from {path}."), Tone::Faint));
    }
    lines
}

/// The debug symbol file, if a shown name comes from it.
fn names_from(report: &FunctionReport<'_>) -> Option<String> {
    let steps = report.paths.paths.iter().flat_map(|chain| &chain.steps);
    let hidden = steps.filter(|step| step.names.first().is_some_and(|name| !name.exported));
    let mut files = hidden.filter_map(|step| report.libraries.all.get(step.library)?.names.as_ref());
    files.next().map(|(path, _)| path.display().to_string())
}

fn lost(report: &FunctionReport<'_>) -> Vec<Text> {
    let walk = &report.paths;
    let text = format!(
        "No system call that makes a process or a thread was found on its paths: {} functions with {} instructions \
         were read, {} calls deep. {} calls go to places that only the running program knows.",
        walk.functions,
        units::grouped(walk.instructions as u64),
        walk.depth,
        walk.unknown_calls
    );
    let mut lines = wrap("  ", &text, Tone::Warn);
    if let Some(why) = walk.cut_short {
        lines.extend(wrap("  ", &format!("It was not read to its end: {why}."), Tone::Warn));
    }
    lines
}

fn live(report: &FunctionReport<'_>) -> Vec<Text> {
    let mut lines = Vec::new();
    match &report.observation.call {
        Some(seen) => {
            let program = seen.program.display();
            let pid = seen.process;
            let why = if seen.why.is_empty() { String::new() } else { format!(" ({})", seen.why) };
            lines.push(Text::new(Tone::Faint, "  the same call, seen live under ptrace"));
            lines.extend(wrap(
                "  ",
                &format!("{}{why}, process {pid} of {program}", seen.command),
                Tone::Plain,
            ));
            lines.extend(seen.checks.iter().map(check));
            lines.extend(stack(seen));
        }
        None => {
            let text = match &report.observation.unavailable {
                Some(why) => format!("not seen live: {why}"),
                None => "not seen live: none of these programs, if installed, makes it from this library"
                    .to_owned(),
            };
            lines.push(Text::plain("  ").with_span(Tone::Warn, text));
            let other =
                |(program, why): &(String, String)| wrap("    ", &format!("{program}: {why}"), Tone::Faint);
            lines.extend(report.observation.others.iter().flat_map(other));
        }
    }
    lines
}

fn check(check: &CallCheck) -> Text {
    let line = Text::plain(format!("    {:<10} {:<22} ", check.item, check.observed));
    match (&check.predicted, check.agrees) {
        (Some(_), true) => line.with_span(Tone::Good, "as read"),
        (None, _) => line.with_span(Tone::Faint, "the code does not tell"),
        (Some(read), false) => line.with_span(Tone::Bad, format!("read: {read}")),
    }
}

fn stack(call: &LiveCall) -> Option<Text> {
    let (found, of) = call.returns?;
    let what = if of == 1 { "address".to_owned() } else { format!("{of} addresses") };
    let line = Text::plain(format!("    {:<10} ", "the way"));
    Some(if found == of {
        line.with_plain(format!("its {what} to return to on the stack   ")).with_span(Tone::Good, "as read")
    } else {
        line.with_span(
            Tone::Warn,
            format!("{found} of its {what} to return to on the stack: it took another path"),
        )
    })
}

fn verdict(report: &FunctionReport<'_>) -> Vec<Text> {
    let (tone, word, text) = match report.verdict {
        Agreement::Pass => (
            Tone::Good,
            "pass",
            match report.observation.call.as_ref().and_then(|seen| seen.path_index) {
                Some(1..) => "the same, by a path that is not the shortest",
                _ => "the live call matches the code",
            },
        ),
        Agreement::Differs => (Tone::Bad, "differs", "the live call does not match the code"),
        Agreement::NotObserved => (Tone::Warn, "not seen", "no live call to compare the code with"),
        Agreement::NoPath => (Tone::Warn, "not read", "no code path to compare the live call with"),
    };
    let line = Text::plain("  ").with_span(tone, word).with_plain(format!(": {text}"));
    let own = "torment's own C library is static, another build, and not on trial.";
    vec![line, Text::new(Tone::Faint, format!("  {own}"))]
}
