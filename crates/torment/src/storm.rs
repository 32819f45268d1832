//! `find processes`, and `run` with a command: programs started instead of requests sent.

use crate::args::{Asked, Common, How, LabelArgs, PageArgs, ProcessesArgs, StormArgs};
use crate::label::labelled;
use crate::measure::{carry_out, opened};
use crate::{Failure, page, paper, wrong};
use plan::Draft;
use runner::{Storming, exit};
use std::io::{self, IsTerminal};
use tui::{Live, print};
use view::{Line, Tone};

/// The rate of processes that holds.
pub fn find(args: &ProcessesArgs, common: &Common) -> Result<u8, Failure> {
    measure(args.asked().map_err(wrong)?, (&args.page, &args.label), common)
}

/// One storm; `load` has what else was said of it.
pub fn run(args: &StormArgs, load: Draft, how: &How, common: &Common) -> Result<u8, Failure> {
    measure(args.asked(load, how).map_err(wrong)?, (&how.page, &how.label), common)
}

fn measure(asked: Asked, (page, label): (&PageArgs, &LabelArgs), common: &Common) -> Result<u8, Failure> {
    let words = asked.describe();
    if !common.quiet || asked.dry_run {
        let lines: Vec<Line> =
            words.iter().map(|line| Line::empty().and(Tone::Faint, line.clone())).collect();
        print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))?;
    }
    if asked.dry_run {
        return Ok(exit::MET);
    }
    let live = !common.quiet && Live::is_possible();
    let store = if asked.no_store { None } else { Some(opened(common)?) };
    let beside = page::beside(page, store.as_ref(), &[], common)?;
    let Asked { plan, command, options, split, .. } = asked;
    let program = std::env::current_exe()?;
    let storming = Storming { command, options, plan, split, program, words: words.join("\n") };
    carry_out(store, beside, live, common, |faces, stop| {
        runner::storm(&storming, env!("CARGO_PKG_VERSION"), &mut labelled(label, faces), stop)
    })
}
