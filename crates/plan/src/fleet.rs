//! Who makes the load and who watches the target, if that is not the one process that carries the plan out.

use serde::{Deserialize, Serialize};
use std::fmt;
use units::Nanos;

/// What was said of them; by default nobody else.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FleetPlan {
    /// Where the load is made.
    pub on: Option<FleetPlace>,
    /// By how many at first, and at most; none of hosts, each of which has one.
    pub workers: Option<(u32, u32)>,
    /// How many processors each uses, with a loop on each; none: as the generator says.
    pub worker_cpus: Option<u32>,
    /// From where the target is watched.
    pub watch_on: Option<FleetPlace>,
    /// How many watchers that others start are waited for.
    pub watchers: Option<u32>,
    /// How long workers and watchers that others start are waited for, if that was said.
    pub wait: Option<Nanos>,
    /// Where torment is on the hosts.
    pub remote_binary: Option<String>,
}

/// Where workers or watchers are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FleetPlace {
    /// On this machine.
    Here,
    /// On these hosts, as ssh takes them.
    Ssh(Vec<String>),
    /// Wherever others start them; they come in at `HOST` or `HOST:PORT`, if that is said.
    Join(Option<String>),
    /// Pods of a cluster: `CONTEXT/NAMESPACE`, as far as that is said.
    Pods(Option<String>),
    /// In the target's own pods, beside its processes: `CONTEXT`, if that is said.
    Inside(Option<String>),
}

impl FleetPlan {
    /// More processes on one machine only take processor time from each other.
    pub const WORKERS_MOST: u32 = 64;
    /// More loops in one process are slower than more processes: they share its memory and its locks in the kernel.
    pub const CPUS_MOST: u32 = 64;
    /// How many make a load, if nothing is said.
    pub const WORKERS: u32 = 2;
    /// Each watcher tells a few kilobytes a second, of a target with many threads some hundred; all of them are judged at once.
    pub const WATCHERS_MOST: u32 = 8;
    /// How long those of `join` are waited for, if nothing is said.
    pub const WAIT: Nanos = Nanos::from_secs(120);

    /// How long they are waited for.
    pub fn wait_time(&self) -> Nanos {
        self.wait.unwrap_or(Self::WAIT)
    }
}

/// As it is typed.
impl fmt::Display for FleetPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str("here"),
            Self::Ssh(hosts) => write!(f, "ssh:{}", hosts.join(",")),
            Self::Join(None) => f.write_str("join"),
            Self::Join(Some(at)) => write!(f, "join:{at}"),
            Self::Pods(None) => f.write_str("k8s"),
            Self::Pods(Some(place)) => write!(f, "k8s:{place}"),
            Self::Inside(None) => f.write_str("inside"),
            Self::Inside(Some(context)) => write!(f, "inside:{context}"),
        }
    }
}

impl FleetPlace {
    /// What is meant, for workers; else what was expected.
    pub(crate) fn parse_workers(text: &str) -> Result<Self, String> {
        let expected = "expected here, for processes on this machine, ssh:HOST,USER@HOST, join, join:HOST:PORT, k8s, or k8s:CONTEXT/NAMESPACE";
        Self::parse(text, FleetPlan::WORKERS_MOST, expected)
    }

    /// The same for watchers.
    pub(crate) fn parse_watchers(text: &str) -> Result<Self, String> {
        let expected = "expected ssh:HOST,USER@HOST, join, join:HOST:PORT, k8s, k8s:CONTEXT/NAMESPACE, inside, or inside:CONTEXT";
        match text.strip_prefix("inside") {
            Some("") => return Ok(Self::Inside(None)),
            Some(rest) if rest.len() > 1 && rest.starts_with(':') => {
                return Ok(Self::Inside(Some(rest[1..].to_owned())));
            }
            _ => {}
        }
        match Self::parse(text, FleetPlan::WATCHERS_MOST, expected)? {
            Self::Here => Err(format!("this machine is watched anyway, where nobody else is; {expected}")),
            Self::Ssh(hosts) => {
                let name = |host: &str| host.rsplit_once('@').map_or(host, |(_, host)| host).to_owned();
                let mut names: Vec<String> = hosts.iter().map(|host| name(host)).collect();
                names.sort_unstable();
                names.dedup();
                if names.len() < hosts.len() {
                    return Err("each machine is watched once: name each host once".to_owned());
                }
                Ok(Self::Ssh(hosts))
            }
            place @ (Self::Join(_) | Self::Pods(_) | Self::Inside(_)) => Ok(place),
        }
    }

    fn parse(text: &str, most: u32, expected: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "here" => Ok(Self::Here),
            None if text == "join" => Ok(Self::Join(None)),
            None if text == "k8s" => Ok(Self::Pods(None)),
            Some(("k8s", place)) if !place.is_empty() => Ok(Self::Pods(Some(place.to_owned()))),
            Some(("join", at)) if !at.is_empty() => Ok(Self::Join(Some(at.to_owned()))),
            Some(("ssh", hosts)) => {
                let hosts: Vec<String> = hosts.split(',').map(|host| host.trim().to_owned()).collect();
                if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
                    return Err(format!(
                        "'{host}' is no host; expected names such as node2 or me@10.0.0.5, ports and keys in ~/.ssh/config"
                    ));
                }
                if hosts.len() > most as usize {
                    return Err(format!("expected at most {most} hosts"));
                }
                Ok(Self::Ssh(hosts))
            }
            _ => Err(format!("'{text}' is no place that is known; {expected}")),
        }
    }
}

/// Whether ssh takes it for a host, and for nothing else.
fn is_host(text: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || "._-@:[]%".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(inner)
}

/// Whether a shell takes it for a path, and for nothing else.
pub(crate) fn is_remote_path(text: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(inner)
}
