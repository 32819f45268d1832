//! `try`: an experiment from its plan, or from where it was cut short.

use crate::args::{Common, TryArgs, kept};
use crate::measure::{carry_out, opened};
use crate::{Failure, paper};
use anyhow::anyhow;
use plan::Plan;
use record::Event;
use runner::exit;
use std::io::{self, IsTerminal};
use store::Store;
use tui::{Live, print};
use view::{Line, Tone};

pub fn attempt(args: &TryArgs, common: &Common) -> Result<u8, Failure> {
    let live = !common.quiet && Live::is_possible();
    match (&args.resume, &args.plan) {
        (Some(run), _) => go_on(run, live, common),
        (None, Some(file)) => begin(args, file, live, common),
        (None, None) => Err(anyhow!("no plan; expected a plan file, or --resume RUN").into()),
    }
}

fn begin(args: &TryArgs, file: &str, live: bool, common: &Common) -> Result<u8, Failure> {
    let plan = args.plan(file, &mut bytes).map_err(wrong)?;
    if !common.quiet || args.dry_run {
        let lines: Vec<Line> =
            plan.describe().into_iter().map(|line| Line::empty().and(Tone::Faint, line)).collect();
        print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))?;
    }
    if args.dry_run {
        print!("{}", plan.to_toml());
        return Ok(exit::MET);
    }
    let store = if args.no_store { None } else { Some(opened(common)?) };
    carry_out(store, live, common, |faces, stop| {
        runner::attempt(&plan, env!("CARGO_PKG_VERSION"), &[], faces, stop)
    })
}

fn go_on(run: &str, live: bool, common: &Common) -> Result<u8, Failure> {
    let store = opened(common)?;
    let id = store.find(run)?;
    let before = store.events(&id)?.collect::<Result<Vec<Event>, _>>()?;
    let plan = plan_of(&store, run, &before)?;
    let recording = store.resume(&id)?;
    carry_out(Some(store), live, common, |faces, stop| {
        faces.resume(&before, recording);
        runner::attempt(&plan, env!("CARGO_PKG_VERSION"), &before, faces, stop)
    })
}

/// The plan that was kept with it.
fn plan_of(store: &Store, run: &str, before: &[Event]) -> Result<Plan, Failure> {
    let begun = before.iter().find_map(|event| match event {
        Event::RunStarted { id, command, plan, .. } => Some((id, command, plan)),
        _ => None,
    });
    match begun {
        Some((_, command, plan)) if command == "try" => kept(plan, &mut bytes).map_err(wrong),
        Some((id, command, _)) => Err(wrong(anyhow!(
            "run {id} is of 'torment {command}', which starts anew; only one of 'torment try' can be gone on with"
        ))),
        None => Err(wrong(anyhow!("nothing is kept of run {run}, in {}", store.path().display()))),
    }
}

fn bytes(path: &str) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("cannot read '{path}': {e}"))
}

fn wrong(error: impl Into<anyhow::Error>) -> Failure {
    Failure { code: exit::USAGE, error: error.into() }
}
