//! The binary: arguments, wiring, exit codes.

mod anatomy;
mod args;
mod attach;
mod commit;
mod compare;
mod connections;
mod doctor;
mod export;
mod hidden_commands;
mod image;
mod interrupt;
mod label;
mod measure;
mod otlp;
mod page;
mod plans;
mod probe;
mod profile;
mod progress_printer;
mod renderings;
mod report;
mod run_source;
mod runs;
mod selftest;
mod serve;
mod storm;
mod temp_join_file;
mod threads;
mod try_command;
mod watch;
mod worker;
mod working_set;

use ::anatomy::CreationFunction;
use anyhow::anyhow;
use args::{Action, Args, CommonArgs, ExplainArgs, ExplainTopic, OtherLimit, OutputFormat};
use clap::Parser;
use runner::exit;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use tui::{PrintStyle, print};
use view::{Text, Tone};

/// An error outside measuring, with its exit code.
struct CommandError {
    code: u8,
    error: anyhow::Error,
}

impl<E: Into<anyhow::Error>> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self { code: exit::ERROR, error: error.into() }
    }
}

/// An error in the arguments or in a plan.
fn usage_error(error: impl Into<anyhow::Error>) -> CommandError {
    CommandError { code: exit::USAGE, error: error.into() }
}

fn read_plan_file(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| unreadable(path, &error))
}

/// Why a file that was named cannot be read; where it was looked for, if it is not there.
fn unreadable(path: &str, error: &std::io::Error) -> String {
    let folder = std::env::current_dir().ok().filter(|_| std::path::Path::new(path).is_relative());
    match folder {
        Some(folder) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("there is no '{path}' in {}", folder.display())
        }
        _ => format!("cannot read '{path}': {error}"),
    }
}

fn main() -> ExitCode {
    if let Some(code) = hidden_commands::run_hidden() {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let error = args::simplify_error(error);
            // Help and version are results, anything else is bad usage; clap prints each where it belongs.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit::USAGE } else { exit::MET });
        }
    };
    let common = args.common;
    match run(args.action, &common) {
        Ok(code) => ExitCode::from(code),
        Err(CommandError { error, .. }) if is_broken_pipe(&error) => ExitCode::from(exit::MET),
        Err(CommandError { code, error }) => {
            print_error(&error, &common);
            ExitCode::from(code)
        }
    }
}

/// Carries out what was typed.
fn run(action: Action, common: &CommonArgs) -> Result<u8, CommandError> {
    renderings::check_format(&action, common.format)?;
    if let Some(why) = args::why_no_fleet(&action) {
        return Err(usage_error(anyhow!(why)));
    }
    match action {
        Action::Find(find) => match &find.level {
            None => {
                let plan = find.plan(&mut read_plan_file).map_err(usage_error)?;
                measure::measure(&plan, &find.traffic.fleet.pods, &find.how, find.profiling(), common)
            }
            Some(OtherLimit::Connections(args)) => connections::find(args, common),
            Some(OtherLimit::Processes(args)) => storm::find(args, common),
            Some(OtherLimit::Threads(args)) => threads::threads(args, common),
            Some(OtherLimit::WorkingSet(args)) => working_set::find(args, common),
        },
        Action::Run(run) if run.storm.is_asked() => storm::run(&run.storm, run.programs(), &run.how, common),
        Action::Run(run) => {
            let plan = run.plan(&mut read_plan_file).map_err(usage_error)?;
            measure::measure(&plan, &run.traffic.fleet.pods, &run.how, run.profiling(), common)
        }
        Action::Try(args) => try_command::try_experiment(&args, common),
        Action::Probe(args) => probe::probe(&args, common),
        Action::Compare(args) => compare::compare(&args, common),
        Action::Show(args) => runs::show(&args, common),
        Action::Explain(ExplainArgs { what: Some(what), .. }) => explain(&what, common),
        Action::Explain(ExplainArgs { run, again, .. }) => {
            runs::explain(run.as_deref().unwrap_or("last"), again, common)
        }
        Action::Serve(args) => page::serve(&args, common),
        Action::Report(args) => report::report(&args, common),
        Action::Export(args) => export::export(&args, common),
        Action::Watch(args) => match &args.join {
            Some(file) => watch::join(&args, file, common),
            None => watch::watch(&args, common),
        },
        Action::Profile(args) => profile::profile(&args, common),
        Action::List(args) => runs::list(&args, common),
        Action::Name(args) => runs::name(&args, common),
        Action::Tag(args) => runs::tag(&args, common),
        Action::Rm { runs } => runs::remove(&runs, common),
        Action::Target(target) => serve::serve(&target),
        Action::Attach(args) => attach::attach(&args, common),
        Action::Image(args) => image::image(&args, common),
        Action::Worker(args) => worker::worker(&args, common),
        Action::Doctor(args) => doctor::doctor(args, common),
        Action::Selftest(args) => selftest::selftest(&args, common),
        Action::Plan(action) => plans::plan(&action, common),
        Action::Completions { shell } => {
            args::write_completions(shell, &mut io::stdout());
            Ok(exit::MET)
        }
        Action::Man { command } => {
            args::write_man(command.as_deref(), &mut io::stdout())?;
            Ok(exit::MET)
        }
    }
}

/// Explains something of the machine rather than a run.
fn explain(what: &ExplainTopic, common: &CommonArgs) -> Result<u8, CommandError> {
    match what {
        ExplainTopic::Fork(args) => anatomy::explain_call(CreationFunction::Fork, &args.program, common),
        ExplainTopic::Vfork(args) => anatomy::explain_call(CreationFunction::Vfork, &args.program, common),
        ExplainTopic::Spawn(args) => anatomy::explain_call(CreationFunction::Spawn, &args.program, common),
        ExplainTopic::Thread(args) => anatomy::explain_call(CreationFunction::Thread, &args.program, common),
        ExplainTopic::Clone => probe::explain_clone(common),
        ExplainTopic::Binary(args) => anatomy::explain_binary(&args.file, common),
        ExplainTopic::Limits => threads::limits(common),
    }
}

/// One message, without a backtrace.
fn print_error(error: &anyhow::Error, common: &CommonArgs) {
    let text = format!("{error:#}");
    let mut lines = text.lines();
    let first = Text::new(Tone::Bad, "torment: ").with_plain(lines.next().unwrap_or_default());
    let rest = lines.map(Text::plain);
    let lines: Vec<Text> = std::iter::once(first).chain(rest).collect();
    let _ = print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common));
}

/// The reader has seen enough, as in `torment show | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Text layout for a terminal or other output.
fn paper(terminal: bool, common: &CommonArgs) -> PrintStyle {
    let colour = common.colour(terminal, std::env::var_os("NO_COLOR").as_deref());
    PrintStyle { colour, ..PrintStyle::for_output(terminal) }
}

/// Prints a result as text or JSON to standard output.
fn print_result(
    lines: impl FnOnce() -> Vec<Text>,
    json: impl FnOnce() -> serde_json::Value,
    common: &CommonArgs,
) -> io::Result<()> {
    // Standard output itself is line-buffered.
    let mut out = io::BufWriter::new(io::stdout().lock());
    match common.format {
        OutputFormat::Text => print(&mut out, &lines(), paper(io::stdout().is_terminal(), common)),
        // JSON: other formats were rejected during argument parsing.
        _ => {
            serde_json::to_writer_pretty(&mut out, &json())?;
            writeln!(out)?;
            out.flush()
        }
    }
}
