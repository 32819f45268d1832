//! The binary: arguments, wiring, exit codes.

mod args;
mod attempt;
mod guard;
mod measure;
mod plans;
mod runs;
mod selftest;
mod serve;
mod watch;

use args::{Action, Args, Common, Format};
use clap::Parser;
use runner::exit;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use tui::{Paper, print};
use view::{Line, Tone};

/// What goes wrong before or beside measuring, with its exit code.
struct Failure {
    code: u8,
    error: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { code: exit::ERROR, error: error.into() }
    }
}

fn main() -> ExitCode {
    if let Some(code) = guard::guard() {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are results, all else is bad usage; clap prints each where it belongs.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::MET });
        }
    };
    let common = args.common;
    let result = match args.action {
        Action::Find(find) => measure::measure(|read| find.plan(read), &find.how, &common),
        Action::Run(run) => measure::measure(|read| run.plan(read), &run.how, &common),
        Action::Try(args) => attempt::attempt(&args, &common),
        Action::Show { run, logs } => runs::show(run.as_deref().unwrap_or("last"), logs, &common),
        Action::Explain { run, again } => runs::explain(run.as_deref().unwrap_or("last"), again, &common),
        Action::Watch(whom) => watch::watch(|read| whom.watching(read), &common),
        Action::List => runs::list(&common),
        Action::Rm { runs } => runs::remove(&runs, &common),
        Action::Target(target) => serve::serve(&target),
        Action::Selftest(args) => selftest::selftest(&args, &common),
        Action::Plan(action) => plans::plan(&action, &common),
        Action::Completions { shell } => {
            args::write_completions(shell, &mut io::stdout());
            Ok(exit::MET)
        }
        Action::Man { command } => {
            args::write_man(command.as_deref(), &mut io::stdout()).map(|()| exit::MET).map_err(Failure::from)
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(Failure { error, .. }) if is_broken_pipe(&error) => ExitCode::from(exit::MET),
        Err(Failure { code, error }) => {
            complain(&error, &common);
            ExitCode::from(code)
        }
    }
}

/// One message, without a backtrace.
fn complain(error: &anyhow::Error, common: &Common) {
    let text = format!("{error:#}");
    let mut lines = text.lines();
    let first = Line::empty().and(Tone::Bad, "torment: ").then(lines.next().unwrap_or_default());
    let rest = lines.map(Line::plain);
    let lines: Vec<Line> = std::iter::once(first).chain(rest).collect();
    let _ = print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common));
}

/// Whoever read the results has seen enough, as in `torment show | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// How text is laid out on an output that is a terminal or not.
fn paper(terminal: bool, common: &Common) -> Paper {
    let colour = common.colour(terminal, std::env::var_os("NO_COLOR").as_deref());
    Paper { colour, ..Paper::of(terminal) }
}

/// A result: text or JSON to standard output.
fn result(
    lines: impl FnOnce() -> Vec<Line>,
    json: impl FnOnce() -> serde_json::Value,
    common: &Common,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match common.format {
        Format::Text => print(&mut out, &lines(), paper(io::stdout().is_terminal(), common)),
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &json())?;
            writeln!(out)
        }
    }
}
