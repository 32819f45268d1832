//! `try`: an experiment from its plan, or from where it was cut short.

use crate::args::{Common, PodArgs, TryArgs, fleet_of, kept};
use crate::label::labelled;
use crate::measure::{announced, carry_out, invited, opened, store};
use crate::{Failure, bytes, page, wrong};
use anyhow::anyhow;
use plan::Plan;
use record::{Event, RunKind};
use runner::exit;
use store::Store;

pub fn attempt(args: &TryArgs, common: &Common) -> Result<u8, Failure> {
    match (&args.resume, &args.plan) {
        (Some(run), _) => go_on(args, run, common),
        (None, Some(file)) => begin(args, file, common),
        (None, None) => Err(anyhow!("no plan; expected a plan file, or --resume RUN").into()),
    }
}

fn begin(args: &TryArgs, file: &str, common: &Common) -> Result<u8, Failure> {
    let plan = args.plan(file, &mut bytes).map_err(wrong)?;
    if announced(&plan, args.dry_run, common)? {
        return Ok(exit::MET);
    }
    let fleet = fleet_of(&plan, &PodArgs::default()).map_err(wrong)?;
    let store = store(args.no_store, common)?;
    let beside = page::beside(&args.page, store.as_ref(), &plan.generator.cores, common)?;
    let _invitations = invited(fleet.as_ref(), None, common)?;
    carry_out(store, beside, common, |faces, stop| {
        let faces = &mut labelled(&args.label, faces);
        runner::attempt(&plan, fleet.as_ref(), env!("CARGO_PKG_VERSION"), &[], faces, stop)
    })
}

fn go_on(args: &TryArgs, run: &str, common: &Common) -> Result<u8, Failure> {
    let store = opened(common)?;
    let id = store.find(run)?;
    let before = store.events(&id)?.collect::<Result<Vec<Event>, _>>()?;
    let plan = plan_of(&store, run, &before)?;
    let fleet = fleet_of(&plan, &PodArgs::default()).map_err(wrong)?;
    let beside = page::beside(&args.page, Some(&store), &plan.generator.cores, common)?;
    let recording = store.resume(&id)?;
    let _invitations = invited(fleet.as_ref(), None, common)?;
    carry_out(Some(store), beside, common, |faces, stop| {
        faces.resume(&before, recording);
        runner::attempt(&plan, fleet.as_ref(), env!("CARGO_PKG_VERSION"), &before, faces, stop)
    })
}

/// The plan that was kept with it.
fn plan_of(store: &Store, run: &str, before: &[Event]) -> Result<Plan, Failure> {
    let begun = before.iter().find_map(|event| match event {
        Event::RunStarted(started) => Some((&started.id, &started.command, &started.plan)),
        _ => None,
    });
    match begun {
        Some((_, command, plan)) if *command == RunKind::Try => kept(plan, &mut bytes).map_err(wrong),
        Some((id, command, _)) => Err(wrong(anyhow!(
            "run {id} is a 'torment {command}', which cannot be resumed; only a 'torment try' can"
        ))),
        None => Err(wrong(anyhow!("nothing of run {run} is kept in {}", store.path().display()))),
    }
}
