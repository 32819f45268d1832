//! `profile`: which code runs, shown and kept.

use crate::args::{Common, ProfileArgs, Whom};
use crate::measure::{carry_out_as, store};
use crate::watch::listening;
use crate::{Failure, wrong};
use anyhow::anyhow;
use procfs::{State, holders, tcp};
use runner::Profiled;
use std::net::SocketAddr;

pub fn profile(args: &ProfileArgs, common: &Common) -> Result<u8, Failure> {
    let (whom, length) = args.asked().map_err(wrong)?;
    let pids = match &whom {
        Whom::Process(pid) => vec![*pid],
        Whom::Port(port) => listeners(&listening(*port)?)?,
        Whom::At(addresses) => listeners(addresses)?,
        Whom::Program(_) => {
            return Err(anyhow!("a program is not started to be profiled; start it first").into());
        }
    };
    let names: Vec<String> =
        pids.iter().filter_map(|pid| Some(format!("{} {pid}", procfs::name(*pid)?))).collect();
    let Some(whom) = names.first().map(|_| names.join(", ")) else {
        return Err(anyhow!(
            "there is no process {}; torment profile :8080 finds the process that listens at a port",
            pids.first().copied().unwrap_or(0)
        )
        .into());
    };
    let asked = Profiled { pids, whom, length, hz: args.hz, words: args.words() };
    carry_out_as(&args.keep, store(args.keep.no_store, common)?, &[], common, |faces, stop| {
        runner::profile(&asked, env!("CARGO_PKG_VERSION"), faces, stop)
    })
}

/// The processes that listen at one of these addresses, or at all addresses of its port. Of those that have inherited the socket of
/// another of them that one is enough.
fn listeners(addresses: &[SocketAddr]) -> Result<Vec<u32>, Failure> {
    let is_there = |local: SocketAddr| {
        addresses.iter().any(|at| at.port() == local.port() && (local == *at || local.ip().is_unspecified()))
    };
    let mut sockets = tcp(std::process::id(), &[State::LISTEN]);
    sockets.retain(|socket| is_there(socket.local));
    let mut pids: Vec<u32> = holders(&sockets).collect();
    let parents: Vec<Option<u32>> =
        pids.iter().map(|pid| procfs::process(*pid).map(|process| process.stat.parent)).collect();
    let all = pids.clone();
    let mut parents = parents.into_iter();
    pids.retain(|_| !parents.next().flatten().is_some_and(|parent| all.contains(&parent)));
    if pids.is_empty() {
        return Err(anyhow!(
            "the process that listens there was not found; name it by its id, or run torment as root"
        )
        .into());
    }
    Ok(pids)
}
