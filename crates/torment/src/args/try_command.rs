use super::fleet::WorkersArgs;
use super::label::LabelArgs;
use super::load::{env_variable, text};
use super::page::PageArgs;
use super::request::{option_error, set};
use clap::Args;
use plan::{Draft, Error, Key, Plan, PlanCommand, ReadFile};

/// What is started is on this machine: pods load what is in their cluster.
const ON: &str = "Generate the loads from several processes: `here`, on this machine; one on each host: ssh:HOST,USER@HOST; processes that \
                  others start: join, join:HOST:PORT";

/// Try hypotheses about a service: would this change help?
///
/// The plan names the service, variants of it, and what each should change. torment starts them one after another,
/// many times and in random order, measures each start, and says for every hypothesis: better, worse, no difference
/// that matters, or undecided. Whatever it starts it stops, come what may.
#[derive(Debug, Args)]
#[command(mut_arg("on", |on| on.help(ON)))]
#[command(after_help = "\
Examples:
  torment try plans/homelab.toml --quick
  torment try plans/pool-size.toml --budget 2h
  torment try plans/homelab.toml --on ssh:node2    the service here, the load from another machine
  torment try --resume 3f2a     resume an experiment that was cut short

Exit codes: 0 every hypothesis has an answer, 91 one is undecided, 99 there was nothing to compare.")]
pub struct TryArgs {
    /// A plan file with [service] or [postgres], [[variant]] and [[hypothesis]]
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub plan: Option<String>,
    /// Get a first answer in minutes, with the settings in the plan's [quick]
    #[arg(long, conflicts_with = "resume")]
    pub quick: bool,
    /// Stop before a block that would not fit into this time
    #[arg(long, value_name = "TIME", conflicts_with = "resume")]
    pub budget: Option<String>,
    /// Resume this experiment, a run that was cut short
    #[arg(long, value_name = "RUN", conflicts_with_all = ["plan", "on", "workers", "worker_cpus", "remote_binary", "wait"])]
    pub resume: Option<String>,
    /// Print the plan as understood, and stop
    #[arg(long, conflicts_with = "resume")]
    pub dry_run: bool,
    /// Do not keep the run; it cannot be resumed then
    #[arg(long, conflicts_with = "resume")]
    pub no_store: bool,
    /// Its page while it lasts.
    #[command(flatten)]
    pub page: PageArgs,
    #[command(flatten)]
    workers: WorkersArgs,
    /// What the run is called.
    #[command(flatten)]
    pub label: LabelArgs,
}

impl TryArgs {
    /// The plan in the file.
    ///
    /// # Errors
    /// With one message about the first thing that is wrong.
    pub fn plan(&self, file: &str, read: ReadFile<'_>) -> Result<Plan, Error> {
        let toml = text(read(file), file).map_err(|message| option_error("PLAN", message))?;
        let mut draft = Draft::from_toml(file, &toml)?;
        set(&mut draft, Key::TryBudget, "--budget", &self.budget);
        self.workers.set(&mut draft);
        if self.quick {
            draft.apply_quick()?;
        }
        build_plan(&draft, read)
    }
}

/// The plan that was kept with an experiment.
///
/// # Errors
/// If it cannot be had again: a file or a secret is no longer there.
pub fn kept(toml: &str, read: ReadFile<'_>) -> Result<Plan, Error> {
    build_plan(&Draft::from_toml("the plan of that run", toml)?, read)
}

fn build_plan(draft: &Draft, read: ReadFile<'_>) -> Result<Plan, Error> {
    let mut plan = draft.check(PlanCommand::Try, read)?;
    plan.bind(|file| text(read(file), file), env_variable)?;
    Ok(plan)
}
