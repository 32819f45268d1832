//! Commands shown in the manual with their output: run, and compared.

use crate::manual::output_match::differs;
use crate::manual::pages::{FencedBlock, ManualPage};
use crate::manual::recorded_runs;
use crate::program::{RunningProcess, Sandbox, binary, repository};
use rustix::process::Signal;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// By then an interrupted command has printed what is shown.
const UNTIL_INTERRUPTED: Duration = Duration::from_secs(2);
/// Attempts, since a busy machine may give another result.
const ATTEMPTS: u32 = 3;
/// Exit code of a measurement in which torment, or the machine, was the limit.
const NOT_TRUSTWORTHY: i32 = 92;
/// Shown where Ctrl-C is pressed.
const INTERRUPTED: &str = "^C";

/// A command and the output shown below it.
pub struct ShownCommand {
    pub command: String,
    pub output: Vec<String>,
    /// Where the output begins on its page, as a 0-based line.
    pub from: usize,
    /// The recorded run whose output it is.
    pub recorded: Option<String>,
    /// The code that `echo $?` shows below it.
    pub code: Option<i32>,
}

/// All of a page, in order.
pub fn shown(page: &ManualPage) -> Vec<ShownCommand> {
    page.blocks()
        .iter()
        .filter(|block| block.language() == "console")
        .flat_map(|block| of(page, block))
        .collect()
}

fn of(page: &ManualPage, block: &FencedBlock) -> Vec<ShownCommand> {
    let place = format!("{}:{}", page.name, block.from);
    let mut all: Vec<ShownCommand> = Vec::new();
    for (at, line) in block.lines.iter().enumerate() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(ShownCommand {
                command: command.to_owned(),
                output: Vec::new(),
                from: block.from + at + 1,
                recorded: block.says("recorded").map(str::to_owned),
                code: None,
            }),
            (None, Some(shown)) => shown.output.push(line.clone()),
            (None, None) => {
                panic!("{place}: a console begins with a command, `$ torment …`, not with '{line}'")
            }
        }
    }
    let mut commands: Vec<ShownCommand> = Vec::new();
    for shown in all {
        match (shown.command.as_str(), commands.last_mut()) {
            // It belongs to the command before it.
            ("echo $?", Some(before)) => {
                before.code = shown.output.first().and_then(|code| code.parse().ok())
            }
            // Silent preparations of a recorded run are part of its command.
            (_, Some(before)) if shown.recorded.is_some() => {
                let command = format!("{}\n{}", before.command, shown.command);
                *before = ShownCommand { command, ..shown };
            }
            _ => commands.push(shown),
        }
    }
    commands
}

/// A place in which a page's commands are run one after the other, as a reader would.
pub struct Shell {
    place: Sandbox,
}

impl Shell {
    /// With the recorded runs in its store and the example plans beside it.
    pub fn new() -> Self {
        let sandbox = Sandbox::new();
        std::fs::create_dir(sandbox.path("torment")).expect("the folder is ours");
        recorded_runs::put(&sandbox.path("torment/torment.db"));
        for folder in ["plans", "targets"] {
            let here = sandbox.path(folder);
            std::os::unix::fs::symlink(repository().join(folder), here).expect("the folder is ours");
        }
        Self { place: sandbox }
    }

    pub fn store(&self) -> std::path::PathBuf {
        self.place.path("torment/torment.db")
    }

    /// A shell line, in this place.
    pub fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("sh");
        // `exec`, so that Ctrl-C is for the program and not for its shell.
        let line =
            if line.contains(['|', '>', ';', '&', '\n']) { line.to_owned() } else { format!("exec {line}") };
        shell.args(["-c", &line]);
        let mut shell = self.place.homed(shell);
        let folder = Path::new(binary()).parent().expect("it is in a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{folder}:{path}")).env("XDG_DATA_HOME", self.place.path(""));
        shell.env("LC_ALL", "C.UTF-8").env_remove("COLUMNS");
        shell
    }

    /// Runs it; returns its output, or else its error output, and its exit code.
    fn run(&self, line: &str, interrupt: bool) -> (Vec<String>, i32) {
        let running = RunningProcess::start(self.shell(line));
        if interrupt {
            sleep(UNTIL_INTERRUPTED);
            running.signal(Signal::INT);
        }
        let ended = running.end();
        let printed = if ended.stdout.is_empty() { &ended.stderr } else { &ended.stdout };
        // The place differs each time.
        let here = self.place.path("");
        let printed = printed.replace(&*here.to_string_lossy(), "");
        (printed.lines().map(|line| line.trim_end().to_owned()).collect(), ended.code())
    }

    /// Runs what is shown; `Err` with the actual output and the difference.
    pub fn check(&self, shown: &ShownCommand) -> Result<(), (Vec<String>, String)> {
        let expected: Vec<String> =
            shown.output.iter().filter(|line| *line != INTERRUPTED).cloned().collect();
        let line = match &shown.recorded {
            Some(name) => format!("torment show {name}"),
            None => shown.command.clone(),
        };
        let mut found = (Vec::new(), String::new());
        let mut distrusted = shown.code != Some(NOT_TRUSTWORTHY);
        for _ in 0..ATTEMPTS {
            let (real, code) = self.run(&line, expected.len() < shown.output.len());
            distrusted &= code == NOT_TRUSTWORTHY;
            let wrong_code = shown.code.is_some_and(|expected| expected != code) && shown.recorded.is_none();
            // Help does not depend on the machine: there every number counts.
            let is_help = shown.command.ends_with(" -h") || shown.command.ends_with(" --help");
            let other = match is_help && !expected.iter().any(|line| line.contains('…')) {
                true => (expected != real).then(|| "a word or a number of it".to_owned()),
                false => differs(&expected, &real),
            };
            match (other, wrong_code) {
                (None, false) => return Ok(()),
                (Some(line), _) => found = (real, line),
                (None, true) => found = (real, format!("the exit code, which is {code}")),
            }
            if shown.recorded.is_some() || is_help {
                break;
            }
        }
        if distrusted {
            println!("SKIPPED: torment itself does not trust what it measures here: {line}");
            return Ok(());
        }
        Err(found)
    }
}

/// Replaces what is shown by the actual output, from the page's end on, so that earlier lines stay where they are.
pub fn bless(page: &ManualPage, stale: &[(ShownCommand, Vec<String>)]) {
    let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
    for (shown, real) in stale.iter().rev() {
        lines.splice(shown.from..shown.from + shown.output.len(), real.iter().cloned());
    }
    std::fs::write(page.path(), lines.join("\n") + "\n").unwrap_or_else(|e| panic!("{}: {e}", page.name));
}
