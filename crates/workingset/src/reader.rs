//! The process that reads, seen from inside: the hidden command `reader`.

use crate::file::Blocks;
use crate::memory::Lines;
use crate::{Behind, Reading, Twice};
use serde::{Deserialize, Serialize};
use service::Talk;
use std::io;
use units::{Bytes, Nanos};

/// What a reader is made for: its first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub behind: Behind,
    pub seed: u64,
}

/// What it is asked then, a line of JSON each. It answers each with a line: what it found, or why not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum ReadRequest {
    Read { set: Bytes, time: Nanos },
    Twice,
}

/// What it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Answer {
    Ready,
    Reading(Reading),
    Twice(Twice),
}

enum Open {
    Memory(Lines),
    File(Box<Blocks>),
}

/// The hidden command `reader`: reads as it is asked on its standard input until that ends.
///
/// # Errors
/// If it was started by hand, or nobody hears it.
pub fn read() -> io::Result<()> {
    let mut asked = Talk::here()?;
    let Some(task): Option<Task> = asked.hear_next()? else { return Ok(()) };
    let mut open = match open(&task) {
        Ok(open) => open,
        Err(why) => return asked.answer(&io::Result::<Answer>::Err(why)),
    };
    asked.answer(&Ok(Answer::Ready))?;
    while let Some(ask) = asked.hear_next()? {
        asked.answer(&carried_out(&ask, &task, &mut open))?;
    }
    Ok(())
}

fn open(task: &Task) -> io::Result<Open> {
    let seed = task.seed;
    Ok(match &task.behind {
        Behind::Memory { most, huge } => Open::Memory(Lines::new(*most, *huge, seed)?),
        Behind::File { path, depth } => Open::File(Box::new(Blocks::open(path, *depth, None, seed)?)),
        Behind::Direct { path, cache } => Open::File(Box::new(Blocks::open(path, 1, Some(*cache), seed)?)),
    })
}

fn carried_out(ask: &ReadRequest, task: &Task, open: &mut Open) -> io::Result<Answer> {
    match (ask, open, &task.behind) {
        (ReadRequest::Read { set, time }, Open::Memory(lines), _) => {
            Ok(Answer::Reading(lines.read(*set, *time)))
        }
        (ReadRequest::Read { set, time }, Open::File(blocks), _) => {
            blocks.read(*set, *time).map(Answer::Reading)
        }
        (ReadRequest::Twice, Open::File(blocks), Behind::File { path, .. } | Behind::Direct { path, .. }) => {
            blocks.twice(path).map(Answer::Twice)
        }
        (ReadRequest::Twice, ..) => Err(io::Error::other("memory is below nothing")),
    }
}
