//! Workers as pods of a cluster: they join by themselves, like anyone with a join file; what the cluster reports
//! explains why they did not, or are gone.

use super::{Fleet, FleetConfig};
use crate::Error;
use cluster::RunPods;
use plan::Target;
use std::time::Duration;

/// For another pod to replace a lost one, or for more to join.
pub(super) const POD_LIMIT: Duration = Duration::from_secs(60);

/// Creates the pods, if they are to make the load. `at_home`: the target's address, if it is this machine's own.
pub(super) fn start_pods(
    config: &FleetConfig,
    target: &Target,
    at_home: Option<String>,
) -> Result<Option<RunPods>, Error> {
    let FleetConfig::Pods { workers, listener, site, deadline, .. } = config else { return Ok(None) };
    if let Some(at) = at_home {
        return Err(local_address_error(&at));
    }
    let host = target.host().unwrap_or_default();
    let seconds = deadline.0 / 1_000_000_000;
    Ok(Some(site.start_workers(*workers, listener.file(), host, seconds)?))
}

/// A target that no pod finds.
pub(crate) fn local_address_error(at: &str) -> Error {
    Error::Fleet(format!(
        "{at} is this machine's own address, at which each pod finds itself: name the target as pods reach it, such as \
         http://SERVICE.NAMESPACE:PORT/"
    ))
}

/// Adds advice where the route back to this machine is missing.
pub(super) fn with_reach_advice(why: String, at: &str) -> String {
    if at.is_empty() || !why.contains(at) || !why.contains("cannot be reached") {
        return why;
    }
    format!(
        "{why}; pods use that address to reach this machine: give one that works (--reach HOST:PORT), and check firewalls \
         and network policies"
    )
}

impl Fleet {
    /// Why the run cannot begin, according to the cluster.
    pub(super) fn pods_obstacle(&mut self) -> Option<String> {
        let pods = self.pods.as_mut()?;
        pods.refresh();
        let why = pods.obstacle()?;
        Some(self.with_help(why))
    }

    /// Why pods did not come in time; `None` without pods.
    pub(super) fn waiting_pods(&self) -> Option<String> {
        let pods = self.pods.as_ref()?;
        let runs = || format!("pods are running but have not joined: see their logs, {}", pods.logs());
        Some(self.with_help(pods.describe_waiting().unwrap_or_else(runs)))
    }

    /// Whether the cluster has no room for more workers for now.
    pub(super) fn lacks_pods(&mut self) -> bool {
        let there = self.members.len();
        self.pods.as_mut().is_some_and(|pods| {
            pods.refresh();
            pods.is_stuck_at(there)
        })
    }

    fn with_help(&self, why: String) -> String {
        let at = self.config.entrance().map_or("", |listener| listener.address.as_str());
        with_reach_advice(why, at)
    }

    /// A pod for people: its node says more than its name.
    pub(super) fn describe_place(&self, host: &str) -> String {
        match self.pods.as_ref().and_then(|pods| pods.node(host)) {
            Some(node) => format!("{node} ({host})"),
            None => host.to_owned(),
        }
    }

    /// Why a worker is lost: the cluster's reason, or else `seen`.
    pub(super) fn why_lost(&self, number: u32, seen: String) -> String {
        let host = self.members.get(&number).map_or("", |state| state.host.as_str());
        self.pods.as_ref().and_then(|pods| pods.why_gone(host)).unwrap_or(seen)
    }
}
