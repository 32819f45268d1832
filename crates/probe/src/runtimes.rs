//! Handover costs between tasks of other languages: goroutines, Java's virtual threads, Node's promises and
//! workers. The programs are ours, a page each, and are built and run in a folder that goes with torment.

mod program;
mod scratch_folder;

use crate::block::ProbeSettings;
use crate::interference::{FOREIGN, InterferenceMeter};
use crate::sides::Placement;
use program::{NoOutput, PrintedBlock, find_program, run};
use record::{Caveat, CaveatKind, Figure, FigureUnit};
use scratch_folder::ScratchFolder;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const GO: &str = include_str!("../runtimes/handover.go");
const JAVA: &str = include_str!("../runtimes/Handover.java");
const NODE: &str = include_str!("../runtimes/handover.js");

/// The rows.
pub const GOROUTINES: &str = "goroutines, channel";
pub const VIRTUAL: &str = "Java virtual threads, synchronous queue";
pub const PROMISES: &str = "Node, promises";
pub const MESSAGES: &str = "Node, messages between workers";

/// The first Java with virtual threads.
const JAVA_LEAST: u32 = 21;
/// The first Go with the loops that the program uses.
const GO_LEAST: u32 = 22;
/// For the Go compiler, which builds its own library the first time.
const BUILDING: Duration = Duration::from_secs(180);
/// For a program to start and warm up its JIT, besides its blocks.
const WARMING: Duration = Duration::from_secs(60);

/// A row, and how to measure it.
struct Runtime {
    row: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
}

/// Rows of the installed runtimes, and sentences on those that are missing or fail.
pub fn measure(table: &str, settings: &ProbeSettings, stop: &dyn Fn() -> bool) -> (Vec<Figure>, Vec<String>) {
    let (mut figures, mut notes) = (Vec::new(), Vec::new());
    let folder = match ScratchFolder::new() {
        Ok(folder) => folder,
        Err(why) => {
            notes.push(format!("No runtime is measured: there is no folder for its program: {why}."));
            return (figures, notes);
        }
    };
    for rows in [go(&folder, stop), java(&folder), node(&folder)] {
        let rows = rows.unwrap_or_else(|why| {
            notes.push(why);
            Vec::new()
        });
        for runtime in rows {
            for place in [Placement::One, Placement::Free] {
                match measure_runtime(table, &runtime, place, settings, stop) {
                    Ok(Some(figure)) => figures.push(figure),
                    Ok(None) => return (figures, notes),
                    Err(why) => notes.push(format!("{} is not measured: {why}.", runtime.row)),
                }
            }
        }
    }
    (figures, notes)
}

/// Goroutines; built first.
fn go(folder: &ScratchFolder, stop: &dyn Fn() -> bool) -> Result<Vec<Runtime>, String> {
    let failed = |why: String| format!("Goroutines are not measured: {why}.");
    let get =
        format!("install Go 1.{GO_LEAST} or newer (package `golang`, or go.dev) so that `go` is in PATH");
    let Some(go) = find_program("go") else { return Err(failed(format!("there is no `go`; {get}"))) };
    if let Some(minor) = version(&go, "version", "go1.").filter(|minor| *minor < GO_LEAST) {
        return Err(failed(format!("`go` is of version 1.{minor}; {get}")));
    }
    let source = folder.write("handover.go", GO).map_err(|why| failed(why.to_string()))?;
    let program = folder.path().join("handover");
    let mut build = Command::new(go);
    // Nothing is downloaded, and nothing stays but the compiler's cache of its own library.
    build.args(["build", "-o"]).args([&program, &source]).current_dir(folder.path());
    build.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GO111MODULE", "off"), ("GOFLAGS", "")]);
    build.env("GOTMPDIR", folder.path());
    match run(build, &[], BUILDING, stop) {
        Ok(_) => {}
        Err(NoOutput::Stopped) => return Ok(Vec::new()),
        Err(NoOutput::Failed(why)) => return Err(failed(format!("its program cannot be built: {why}"))),
    }
    Ok(vec![Runtime { row: GOROUTINES, program, arguments: Vec::new() }])
}

/// Virtual threads; Java compiles the source itself.
fn java(folder: &ScratchFolder) -> Result<Vec<Runtime>, String> {
    let failed = |why: String| format!("Java's virtual threads are not measured: {why}.");
    let get = format!(
        "install a JDK of version {JAVA_LEAST} or newer, and have JAVA_HOME name its folder or PATH its `java`"
    );
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
    let home = home.filter(|java| java.is_file());
    let Some(java) = home.or_else(|| find_program("java")) else {
        return Err(failed(format!("there is no `java`; {get}")));
    };
    if let Some(major) = version(&java, "--version", "").filter(|major| *major < JAVA_LEAST) {
        return Err(failed(format!("{} is of version {major}; {get}", java.display())));
    }
    let source = folder.write("Handover.java", JAVA).map_err(|why| failed(why.to_string()))?;
    // Its counters would be left among the temporary files if it were killed.
    let arguments = vec!["-XX:-UsePerfData".to_owned(), source.display().to_string()];
    Ok(vec![Runtime { row: VIRTUAL, program: java, arguments }])
}

fn node(folder: &ScratchFolder) -> Result<Vec<Runtime>, String> {
    let failed = |why: String| format!("Node is not measured: {why}.");
    let Some(node) = find_program("node") else {
        let get = "install Node 18 or newer (package `nodejs`, or nodejs.org) so that `node` is in PATH";
        return Err(failed(format!("there is no `node`; {get}")));
    };
    let source = folder.write("handover.js", NODE).map_err(|why| failed(why.to_string()))?;
    let row = |row, kind: &str| Runtime {
        row,
        program: node.clone(),
        arguments: vec![source.display().to_string(), kind.to_owned()],
    };
    Ok(vec![row(PROMISES, "promises"), row(MESSAGES, "messages")])
}

/// The number after `before`, in the first matching line of the program's version output.
fn version(program: &Path, argument: &str, before: &str) -> Option<u32> {
    let output = Command::new(program).arg(argument).output().ok()?;
    number_after(&String::from_utf8_lossy(&output.stdout), before)
}

fn number_after(text: &str, before: &str) -> Option<u32> {
    let line = text.lines().next()?;
    let rest = &line[line.find(before)? + before.len()..];
    let digits: String =
        rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// One program in one placement; none if interrupted.
fn measure_runtime(
    table: &str,
    runtime: &Runtime,
    place: Placement,
    settings: &ProbeSettings,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Figure>, String> {
    let processors = place.processors().map_err(|why| why.to_string())?.map(|places| places[0]);
    let mut command = Command::new(&runtime.program);
    command.args(&runtime.arguments).args([settings.blocks.to_string(), settings.block_time.0.to_string()]);
    let limit = WARMING + settings.block_time.to_duration() * settings.blocks * 4;
    let meter = InterferenceMeter::new();
    let output = match run(command, processors.as_slice(), limit, stop) {
        Ok(said) => said,
        Err(NoOutput::Stopped) => return Ok(None),
        Err(NoOutput::Failed(why)) => return Err(why),
    };
    let disturbed = disturbance_caveat(&meter);
    let parse = |line: &str| serde_json::from_str(line).map_err(|why| format!("it says {line:?}: {why}"));
    let lines = output.lines().map(parse).collect::<Result<Vec<PrintedBlock>, String>>()?;
    let blocks: Vec<f64> = lines.iter().map(|line| line.ns).collect();
    if blocks.len() != settings.blocks as usize {
        return Err(format!("it was asked for {} blocks and says {}", settings.blocks, blocks.len()));
    }
    let handovers = lines.iter().map(|line| line.handovers).sum();
    let names = (table, runtime.row, place.name());
    let figure = Figure::from_blocks(names, FigureUnit::Nanos, blocks, handovers)
        .ok_or("what it says are no numbers")?;
    Ok(Some(Figure { caveats: disturbed.into_iter().collect(), ..figure }))
}

/// A caveat if others ran meanwhile.
fn disturbance_caveat(meter: &InterferenceMeter) -> Option<Caveat> {
    let (others, _) = meter.foreign_and_stolen(Duration::ZERO)?;
    (others > FOREIGN).then(|| {
        let text = format!(
            "others used more than {:.0} % of a processor meanwhile; measure again on a quiet machine",
            FOREIGN * 100.0
        );
        Caveat::new(CaveatKind::Disturbed, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, before, number) in [
            ("go version go1.26.8 linux/amd64\n", "go1.", Some(26)),
            ("go version devel +abc linux/amd64", "go1.", None),
            ("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime", "", Some(17)),
            ("java 21 2023-09-19 LTS", "", Some(21)),
            ("openjdk 25-ea 2025-09-16", "", Some(25)),
            ("", "", None),
        ] {
            assert_eq!(number_after(text, before), number, "{text}");
        }
    }
}
