//! `find processes`, and what `run` takes when it starts programs instead of sending requests.

use super::fleet::NoFleetArgs;
use super::label::KeepArgs;
use super::request::set;
use super::search::SearchArgs;
use clap::Args;
use plan::{Draft, Error, Key, Plan, PlanCommand};
use runner::StormRequest;
use std::ffi::OsString;
use std::path::PathBuf;
use storm::{ExpectedStatuses, ProgramCommand, StormOptions};
use units::Nanos;

/// Processes alive at once if nothing is said: of a number of processes,
const PARALLEL: u32 = 100;
/// and of a rate, where more means that the machine does not keep up.
const PARALLEL_OPEN: u32 = 1000;
/// More descriptors than this no Linux process may have (`fs.nr_open` by default).
const PARALLEL_MOST: u32 = 1 << 20;

/// Find how many processes a second this machine can start
///
/// Starts a short program at a rate, whether or not the machine keeps up, and raises the rate until processes fail,
/// time out or pile up. Then says what a process cost, and how fast this machine could start a program that does
/// nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment find processes                        of `true`, the usual short program
  torment find processes -- /bin/sh -c 'ls >/dev/null'
  torment find processes --goal 'p99<20ms' --budget 2m -- my-tool --version")]
pub struct ProcessesArgs {
    #[command(flatten)]
    search: SearchArgs,
    /// Kill a process that has not ended this long after it was due [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Processes")]
    timeout: Option<String>,
    /// At the end, do not start the program up to 50 more times, one after another, to see where its time goes
    #[arg(long, help_heading = "Processes")]
    no_split: bool,
    #[command(flatten)]
    processes: ProcessOptions,
    /// None.
    #[command(flatten)]
    pub fleet: NoFleetArgs,
    /// Print what would be done, and stop
    #[arg(long, help_heading = "Mode")]
    pub dry_run: bool,
    /// What becomes of the run.
    #[command(flatten, next_help_heading = "Mode")]
    pub keep: KeepArgs,
    /// The program and its arguments [default: true]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What `run` takes beside its load when it starts programs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Processes")]
pub struct StormArgs {
    /// Start this many processes of the COMMAND after `--`, instead of sending requests
    #[arg(long, value_name = "COUNT")]
    pub processes: Option<String>,
    /// At the end, start the program up to 50 more times, one after another, to see where its time goes
    #[arg(long)]
    split: bool,
    #[command(flatten)]
    also: ProcessOptions,
    /// The program to start instead of sending requests, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub program: Vec<OsString>,
}

/// What both take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Processes")]
struct ProcessOptions {
    /// Most processes alive at once [default: 100; with a rate 1000]
    #[arg(long, value_name = "COUNT")]
    parallel: Option<String>,
    /// Exit statuses that count as success: 0,2-4 [default: 0]
    #[arg(long, value_name = "LIST")]
    expect_exit: Option<String>,
    /// Append what the processes write to this file [default: discard it]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a line of JSON per process to this file
    #[arg(long, value_name = "FILE")]
    job_log: Option<PathBuf>,
}

impl ProcessesArgs {
    /// What was asked for.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn request(&self, program: PathBuf) -> anyhow::Result<StormRequest> {
        let mut draft = Draft::default();
        self.search.set(&mut draft);
        set(&mut draft, Key::Timeout, "--timeout", &self.timeout);
        let plan = checked(draft, PlanCommand::Find)?;
        let usual = [OsString::from("true")];
        let words = if self.command.is_empty() { &usual[..] } else { &self.command };
        let parallel = self.processes.parallel()?.unwrap_or(PARALLEL_OPEN);
        self.processes.request(plan, words, parallel, !self.no_split, program)
    }
}

impl StormArgs {
    /// Whether programs are to be started.
    pub fn is_asked(&self) -> bool {
        self.processes.is_some() || !self.program.is_empty()
    }

    /// What was asked for; `load` has what `run` was told of rate, duration, stages, goal and time-out.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn request(&self, mut load: Draft, program: PathBuf) -> anyhow::Result<StormRequest> {
        if load.text(Key::Connections).is_some() {
            anyhow::bail!("processes have no connections; give --parallel for how many are alive at once");
        }
        let is_open = load.text(Key::Rate).is_some() || load.text(Key::Stages).is_some();
        let parallel = self.also.parallel()?;
        let count = self.processes.clone().or_else(|| load.text(Key::Requests).map(str::to_owned));
        match (&count, is_open) {
            (Some(_), true) => anyhow::bail!(
                "a number of processes and a rate: a number is started as fast as --parallel allows, a rate by due times; leave one out"
            ),
            (None, false) => anyhow::bail!(
                "how many processes? Give --processes 10000 (that many, --parallel at once), or --rate 500 \
                 (that many a second)"
            ),
            (Some(count), false) => {
                load.set(Key::Requests, "--processes", count);
                let parallel = parallel.unwrap_or(PARALLEL).to_string();
                load.set(Key::Connections, "--parallel", &parallel);
            }
            (None, true) => {}
        }
        let plan = checked(load, PlanCommand::Run)?;
        let parallel = parallel.unwrap_or(if is_open { PARALLEL_OPEN } else { PARALLEL });
        self.also.request(plan, &self.program, parallel, self.split, program)
    }
}

/// The load of a plan that has no target.
fn checked(mut draft: Draft, command: PlanCommand) -> Result<Plan, Error> {
    draft.set(Key::Url, "COMMAND", "null");
    draft.check(command, &mut |path| Err(format!("no file is read here, not '{path}'")))
}

impl ProcessOptions {
    fn parallel(&self) -> anyhow::Result<Option<u32>> {
        let Some(text) = &self.parallel else { return Ok(None) };
        let number = text.replace(['_', ','], "").parse::<u32>().ok();
        match number.filter(|number| (1..=PARALLEL_MOST).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => anyhow::bail!(
                "--parallel: '{text}' is not a number of processes, a whole number from 1 to {PARALLEL_MOST}"
            ),
        }
    }

    fn request(
        &self,
        plan: Plan,
        words: &[OsString],
        parallel: u32,
        split: bool,
        program: PathBuf,
    ) -> anyhow::Result<StormRequest> {
        let command = ProgramCommand::find(words, std::env::var_os("PATH").as_deref())?;
        let expected = match &self.expect_exit {
            None => ExpectedStatuses::default(),
            Some(text) => ExpectedStatuses::parse(text).ok_or_else(|| {
                anyhow::anyhow!(
                    "--expect-exit: '{text}' is not a list of exit statuses from 0 to 255, such as 0,2-4"
                )
            })?,
        };
        let timeout = plan.flows.iter().flat_map(|flow| &flow.steps).map(|step| step.timeout).max();
        let options = StormOptions {
            parallel,
            timeout: timeout.unwrap_or(Nanos::from_secs(10)),
            expected,
            deadline: plan.objective.deadline,
            output: self.output.clone(),
            log: self.job_log.clone(),
            outstanding: u64::from(plan.generator.outstanding),
        };
        let words = describe(&plan, &command, &options).join("\n");
        Ok(StormRequest { command, options, plan, split, program, words })
    }
}

/// A storm in words, a line for each thing.
pub fn describe(plan: &Plan, command: &ProgramCommand, options: &StormOptions) -> Vec<String> {
    let load = match &plan.task {
        plan::Task::Find(find) => format!("from {} up, until {} fails", find.from, plan.objective),
        plan::Task::Run(plan::Load::Closed { requests, duration, .. }) => {
            let number = requests.map_or_else(
                || "as many as possible".to_owned(),
                |n| format!("{} processes", units::grouped(n)),
            );
            let time = duration.map_or_else(String::new, |time| format!(", for at most {time}"));
            format!("{number}, as fast as {} at once allow{time}", options.parallel)
        }
        plan::Task::Run(plan::Load::Open { stages, .. }) => {
            let to = |stage: &plan::Stage| format!("{} for {}", stage.to, stage.duration);
            stages.iter().map(to).collect::<Vec<_>>().join(", then ")
        }
        plan::Task::Try(_) => String::new(),
    };
    let mut lines = vec![
        format!("starts {} ({})", command.shell_text(), command.path.display()),
        load,
        format!(
            "at most {} alive at once, each killed after {}",
            units::grouped(options.parallel.into()),
            options.timeout
        ),
    ];
    lines.extend(options.output.as_ref().map(|file| format!("their output goes to '{}'", file.display())));
    lines.extend(options.log.as_ref().map(|file| format!("one line each goes to '{}'", file.display())));
    lines
}
