//! One side of a comparison: a prober of torment's, or a program.

use probe::launch::{LaunchMethod, LaunchProbe};
use probe::{AnyProbe, Prober};
use rustix::process::Signal;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Folder of the reference programs.
pub(super) const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/reference");

/// What makes the blocks.
#[derive(Debug, Clone)]
pub enum BlockSource {
    /// torment's own prober.
    Prober(AnyProbe),
    /// A C program of the folder `reference/`, compiled on demand. In its arguments `{first}` and `{last}` are the first and last
    /// processor, `{pages}` and `{mappings}` those of the paired prober.
    Program {
        /// Its source file.
        source: &'static str,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A program that is run once per block. Its arguments as above; `{torment}` is torment's executable.
    Command {
        /// Its name, looked up in PATH; or `{torment}`.
        program: &'static str,
        /// Its arguments.
        arguments: Vec<String>,
        /// How to get it.
        install: &'static str,
        /// Parses its output, with the time that it took.
        read: fn(&Output, Duration) -> Option<Vec<f64>>,
    },
}

/// What the sides are built from.
#[derive(Debug)]
pub struct BuildContext {
    /// torment's executable, from which the probers are started.
    pub torment: PathBuf,
    /// Folder for compiled programs.
    pub scratch: PathBuf,
    /// Sources compiled already, or why they cannot be.
    compiled: HashMap<&'static str, Result<PathBuf, String>>,
}

impl BuildContext {
    /// With nothing compiled yet.
    pub fn new(torment: PathBuf, scratch: PathBuf) -> Self {
        Self { torment, scratch, compiled: HashMap::new() }
    }

    fn program(&mut self, source: &'static str) -> Result<PathBuf, String> {
        let into = self.scratch.join(source.trim_end_matches(".c"));
        self.compiled.entry(source).or_insert_with(|| compile(source, &into).map(|()| into)).clone()
    }
}

/// Static if possible, like torment: a dynamic program has more mappings.
fn compile(source: &str, into: &Path) -> Result<(), String> {
    let path = Path::new(SOURCES).join(source);
    let cc = |extra: &[&str]| {
        let mut command = Command::new("cc");
        command.args(["-O2", "-pthread"]).args(extra).arg("-o").arg(into).arg(&path);
        command.output().map_err(|why| format!("cc does not run ({why}): `apt install gcc libc6-dev` has it"))
    };
    if cc(&["-static"])?.status.success() {
        return Ok(());
    }
    let made = cc(&[])?;
    let stderr = || String::from_utf8_lossy(&made.stderr).into_owned();
    if made.status.success() { Ok(()) } else { Err(format!("{source} does not compile: {}", stderr())) }
}

/// A side ready to measure.
pub(super) enum RunningSource {
    Prober(Box<Prober>, AnyProbe),
    Program(ReferenceProcess),
    Command(PathBuf, Vec<String>, fn(&Output, Duration) -> Option<Vec<f64>>),
}

/// A reference program that waits for the next line.
pub(super) struct ReferenceProcess {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for ReferenceProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl RunningSource {
    /// Makes a side ready; `own` is the number of pages and mappings of the prober on the other side, if there is one.
    pub(super) fn new(
        side: &BlockSource,
        context: &mut BuildContext,
        prober_size: Option<(u64, u64)>,
    ) -> Result<Self, String> {
        match side {
            BlockSource::Prober(what) => {
                let worker =
                    Prober::start(&context.torment, what.prober_kind()).map_err(|why| why.to_string())?;
                Ok(Self::Prober(Box::new(worker), what.clone()))
            }
            BlockSource::Program { source, arguments } => {
                let path = context.program(source)?;
                let failed = |why: std::io::Error| format!("{}: {why}", path.display());
                let mut command = Command::new(&path);
                command
                    .args(fill_arguments(arguments, context, prober_size)?)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped());
                sys::configure_child(&mut command, Signal::KILL, &[], Vec::new()).map_err(failed)?;
                let mut process = command.spawn().map_err(failed)?;
                let input = process.stdin.take().expect("it was asked to be piped");
                let output = BufReader::new(process.stdout.take().expect("it was asked to be piped"));
                Ok(Self::Program(ReferenceProcess { process, input, output }))
            }
            BlockSource::Command { program, arguments, install: get, read } => {
                let path =
                    if *program == "{torment}" { Some(context.torment.clone()) } else { which(program) };
                let path = path.ok_or_else(|| format!("{program} is not installed: `{get}` has it"))?;
                Ok(Self::Command(path, fill_arguments(arguments, context, prober_size)?, *read))
            }
        }
    }

    /// Minimum operations per block.
    pub(super) fn min_operations(&self) -> u64 {
        match self {
            Self::Prober(_, what) => what.min_operations(),
            Self::Program(_) | Self::Command(..) => 1,
        }
    }

    /// Whether the number of operations per block can be chosen.
    pub(super) fn takes_operations(&self) -> bool {
        !matches!(self, Self::Command(..))
    }

    /// Pages that the prober touched beyond those requested, and its mappings.
    pub(super) fn prober_size(&mut self) -> Option<(u64, u64)> {
        let Self::Prober(worker, _) = self else { return None };
        let block = worker
            .measure_block(&AnyProbe::Launch(LaunchProbe::new(LaunchMethod::Itself, 0)), 1)
            .ok()?
            .ok()?;
        match block.values.as_slice() {
            [pages, mappings] => Some((*pages as u64, *mappings as u64)),
            _ => None,
        }
    }

    /// One block: its values, and how long it took.
    pub(super) fn run_block(&mut self, operations: u64) -> Result<(Vec<f64>, Duration), String> {
        let began = Instant::now();
        let values = match self {
            Self::Prober(worker, what) => {
                worker.measure_block(what, operations).map_err(|why| why.to_string())??.values
            }
            Self::Program(program) => {
                let written = writeln!(program.input, "{operations}").and_then(|()| program.input.flush());
                let mut line = String::new();
                let received = written.and_then(|()| program.output.read_line(&mut line));
                let values: Option<Vec<f64>> =
                    line.split_whitespace().map(|word| word.parse().ok()).collect();
                match (received, values) {
                    (Ok(heard), Some(values)) if heard > 0 => values,
                    _ => {
                        return Err(format!(
                            "the reference program says {line:?} ({:?})",
                            program.process.try_wait()
                        ));
                    }
                }
            }
            Self::Command(path, arguments, read) => {
                let mut command = Command::new(&*path);
                command.args(&*arguments).stdin(Stdio::null());
                let output = command.output().map_err(|why| format!("{}: {why}", path.display()))?;
                read(&output, began.elapsed()).ok_or_else(|| {
                    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                    format!("{} gave no figure ({}): {}", path.display(), output.status, stderr.trim())
                })?
            }
        };
        Ok((values, began.elapsed()))
    }
}

/// Fills in the placeholders of arguments.
fn fill_arguments(
    arguments: &[String],
    context: &BuildContext,
    prober_size: Option<(u64, u64)>,
) -> Result<Vec<String>, String> {
    let processors = crate::machine::processors();
    let [first, .., last] = match processors.as_slice() {
        [only] => [*only, *only],
        [first, .., last] => [*first, *last],
        [] => return Err("the kernel names no processor to run on".to_owned()),
    };
    let (pages, mappings) = prober_size.unwrap_or_default();
    let torment = context.torment.display().to_string();
    let fill = |argument: &String| {
        argument
            .replace("{first}", &first.to_string())
            .replace("{last}", &last.to_string())
            .replace("{pages}", &pages.to_string())
            .replace("{mappings}", &mappings.to_string())
            .replace("{torment}", &torment)
    };
    Ok(arguments.iter().map(fill).collect())
}

fn which(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(folder: &Path) -> BuildContext {
        BuildContext::new(PathBuf::from("/the/torment"), folder.to_owned())
    }

    #[test]
    fn names_in_arguments_are_filled_in() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments = ["{torment}", "{pages}/{mappings}", "{last}"].map(str::to_owned);
        let filled =
            fill_arguments(&arguments, &context(folder.path()), Some((7, 9))).expect("this runs somewhere");
        let last = crate::machine::processors().last().expect("this runs somewhere").to_string();
        assert_eq!(filled, ["/the/torment", "7/9", &last]);
    }

    #[test]
    fn a_command_is_run_and_read_and_missed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let read = |output: &Output, _: Duration| {
            Some(vec![String::from_utf8_lossy(&output.stdout).trim().parse().ok()?])
        };
        let side = |program: &'static str, word: &str| BlockSource::Command {
            program,
            arguments: vec!["-c".to_owned(), format!("echo {word}")],
            install: "apt install it",
            read,
        };
        let mut ready = RunningSource::new(&side("sh", "7.5"), &mut context(folder.path()), None)
            .expect("there is a shell");
        assert_eq!(ready.run_block(1).expect("it says a number").0, [7.5]);
        let mut ready = RunningSource::new(&side("sh", "none"), &mut context(folder.path()), None)
            .expect("there is a shell");
        assert!(ready.run_block(1).expect_err("no number").contains("gave no figure"));
        let missing = RunningSource::new(&side("no-such-program", "1"), &mut context(folder.path()), None);
        assert!(missing.err().expect("it is nowhere").contains("apt install it"));
    }

    #[test]
    fn a_reference_program_answers_by_lines() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments = ["fork", "0", "0", "{last}", "{pages}", "{mappings}"].map(str::to_owned).to_vec();
        let side = BlockSource::Program { source: "launch.c", arguments };
        match RunningSource::new(&side, &mut context(folder.path()), Some((300, 20))) {
            Ok(mut ready) => {
                for _ in 0..2 {
                    let (values, _) = ready.run_block(20).expect("it answers");
                    assert!(values.len() == 2 && 0.0 < values[0] && values[0] < values[1], "{values:?}");
                }
            }
            Err(why) => assert!(why.contains("apt install gcc"), "{why}"),
        }
    }
}
