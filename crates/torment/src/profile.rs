//! `profile`: which code runs, shown and kept.

use crate::args::{CommonArgs, ProfileArgs, WatchTarget};
use crate::measure::{carry_out_as, open_run_store};
use crate::watch::listening;
use crate::{CommandError, usage_error};
use anyhow::anyhow;
use procfs::{TcpState, socket_owners, tcp_sockets};
use runner::ProfileRequest;
use std::net::SocketAddr;

pub fn profile(args: &ProfileArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    let (description, length) = args.target_and_duration().map_err(usage_error)?;
    let pids = match &description {
        WatchTarget::Process(pid) => vec![*pid],
        WatchTarget::Port(port) => listeners(&listening(*port)?)?,
        WatchTarget::At(addresses) => listeners(addresses)?,
        WatchTarget::Program(_) => {
            return Err(anyhow!("a program is not started to be profiled; start it first").into());
        }
    };
    let names: Vec<String> =
        pids.iter().filter_map(|pid| Some(format!("{} {pid}", procfs::process_name(*pid)?))).collect();
    let Some(description) = names.first().map(|_| names.join(", ")) else {
        return Err(anyhow!(
            "there is no process {}; torment profile :8080 finds the process that listens at a port",
            pids.first().copied().unwrap_or(0)
        )
        .into());
    };
    let request = ProfileRequest { pids, description, length, hz: args.hz, words: args.words() };
    carry_out_as(&args.keep, open_run_store(args.keep.no_store, common)?, &[], common, |reporter, stop| {
        runner::profile(&request, reporter, stop)
    })
}

/// Processes that listen at one of these addresses, or at all addresses of its port. Of those that inherited the socket
/// from one another, only the ancestor.
fn listeners(addresses: &[SocketAddr]) -> Result<Vec<u32>, CommandError> {
    let is_there = |local: SocketAddr| {
        addresses.iter().any(|at| at.port() == local.port() && (local == *at || local.ip().is_unspecified()))
    };
    let mut sockets = tcp_sockets(std::process::id(), &[TcpState::LISTEN]);
    sockets.retain(|socket| is_there(socket.local));
    let owners: Vec<u32> = socket_owners(&sockets).collect();
    let inherits = |pid: &u32| {
        procfs::running_process(*pid).is_some_and(|process| owners.contains(&process.stat.parent))
    };
    let pids: Vec<u32> = owners.iter().copied().filter(|pid| !inherits(pid)).collect();
    if pids.is_empty() {
        return Err(anyhow!(
            "the process that listens there was not found; name it by its id, or run torment as root"
        )
        .into());
    }
    Ok(pids)
}
