//! `try`: an experiment from its plan, or resumed.

use crate::args::{CommonArgs, PodArgs, TryArgs, fleet_config, kept};
use crate::label::with_label;
use crate::measure::{announce_plan, carry_out, open_run_store, open_store, write_join_files};
use crate::{CommandError, page, read_plan_file, usage_error};
use anyhow::anyhow;
use plan::Plan;
use record::{Event, RunKind};
use runner::exit;
use store::Store;

pub fn try_experiment(args: &TryArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    match (&args.resume, &args.plan) {
        (Some(run), _) => resume_experiment(args, run, common),
        (None, Some(file)) => begin(args, file, common),
        (None, None) => Err(anyhow!("no plan; expected a plan file, or --resume RUN").into()),
    }
}

fn begin(args: &TryArgs, file: &str, common: &CommonArgs) -> Result<u8, CommandError> {
    let plan = args.plan(file, &mut read_plan_file).map_err(usage_error)?;
    if announce_plan(&plan, args.dry_run, common)? {
        return Ok(exit::MET);
    }
    let fleet = fleet_config(&plan, &PodArgs::default()).map_err(usage_error)?;
    let store = open_run_store(args.no_store, common)?;
    let publishers = page::start_publishers(&args.page, store.as_ref(), &plan.generator.cores, common)?;
    let _invitations = write_join_files(fleet.as_ref(), None, common)?;
    carry_out(store, publishers, common, |reporter, stop| {
        let reporter = &mut with_label(&args.label, reporter);
        runner::run_experiment(&plan, fleet.as_ref(), &[], reporter, stop)
    })
}

fn resume_experiment(args: &TryArgs, run: &str, common: &CommonArgs) -> Result<u8, CommandError> {
    let store = open_store(common)?;
    let id = store.find(run)?;
    let before = store.events(&id)?.collect::<Result<Vec<Event>, _>>()?;
    let plan = plan_of(&store, run, &before)?;
    let fleet = fleet_config(&plan, &PodArgs::default()).map_err(usage_error)?;
    let publishers = page::start_publishers(&args.page, Some(&store), &plan.generator.cores, common)?;
    let recording = store.resume(&id)?;
    let _invitations = write_join_files(fleet.as_ref(), None, common)?;
    carry_out(Some(store), publishers, common, |reporter, stop| {
        reporter.resume(&before, recording);
        runner::run_experiment(&plan, fleet.as_ref(), &before, reporter, stop)
    })
}

/// The plan stored with it.
fn plan_of(store: &Store, run: &str, before: &[Event]) -> Result<Plan, CommandError> {
    let begun = before.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some((&started.id, &started.command, &started.plan)),
        _ => None,
    });
    match begun {
        Some((_, command, plan)) if *command == RunKind::Try => {
            kept(plan, &mut read_plan_file).map_err(usage_error)
        }
        Some((id, command, _)) => Err(usage_error(anyhow!(
            "run {id} is a 'torment {command}', which cannot be resumed; only a 'torment try' can"
        ))),
        None => Err(usage_error(anyhow!("nothing of run {run} is kept in {}", store.path().display()))),
    }
}
