//! Who makes the load and who watches the target, if not the one process that carries out the plan.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use units::Nanos;

/// What the plan says of workers and watchers; by default there are none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FleetPlan {
    /// Where the load is made.
    pub on: Option<FleetPlace>,
    /// Number of workers at first, and at most; none for hosts, each of which has one.
    pub workers: Option<(u32, u32)>,
    /// Processors per worker, with a loop on each; none: as the generator says.
    pub worker_cpus: Option<u32>,
    /// Where the target is watched from.
    pub watch_on: Option<FleetPlace>,
    /// How many watchers started by others to wait for.
    pub watchers: Option<u32>,
    /// How long to wait for workers and watchers started by others, if given.
    pub wait: Option<Nanos>,
    /// Path of torment on the hosts.
    pub remote_binary: Option<String>,
}

/// Where workers or watchers are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FleetPlace {
    /// On this machine.
    Here,
    /// On these hosts, in ssh's syntax.
    Ssh(Vec<String>),
    /// Wherever others start them; they connect to `HOST` or `HOST:PORT`, if given.
    Join(Option<String>),
    /// Pods of a cluster: `CONTEXT/NAMESPACE`, as far as given.
    Pods(Option<String>),
    /// In the target's own pods, beside its processes: `CONTEXT`, if given.
    Inside(Option<String>),
}

impl FleetPlan {
    /// Maximum: more processes on one machine only take processor time from each other.
    pub const MAX_WORKERS: u32 = 64;
    /// Maximum: more loops in one process are slower than more processes, as they share its memory and its kernel
    /// locks.
    pub const MAX_CPUS: u32 = 64;
    /// Default number of workers.
    pub const DEFAULT_WORKERS: u32 = 2;
    /// Maximum: a watcher sends a few kilobytes a second, some hundred for a target with many threads; all of it is
    /// judged together.
    pub const MAX_WATCHERS: u32 = 8;
    /// Default wait for those of `join`.
    pub const DEFAULT_WAIT: Nanos = Nanos::from_secs(120);

    /// How long to wait for them.
    pub fn wait_time(&self) -> Nanos {
        self.wait.unwrap_or(Self::DEFAULT_WAIT)
    }
}

/// As typed.
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
    /// Parses a place for workers; the error is what was expected.
    pub(crate) fn parse_workers(text: &str) -> Result<Self, String> {
        let expected = "expected here, for processes on this machine, ssh:HOST,USER@HOST, join, join:HOST:PORT, k8s, or k8s:CONTEXT/NAMESPACE";
        Self::parse(text, FleetPlan::MAX_WORKERS, expected)
    }

    /// Parses a place for watchers; the error is what was expected.
    pub(crate) fn parse_watchers(text: &str) -> Result<Self, String> {
        let expected = "expected ssh:HOST,USER@HOST, join, join:HOST:PORT, k8s, k8s:CONTEXT/NAMESPACE, inside, or inside:CONTEXT";
        match text.strip_prefix("inside") {
            Some("") => return Ok(Self::Inside(None)),
            Some(rest) if rest.len() > 1 && rest.starts_with(':') => {
                return Ok(Self::Inside(Some(rest[1..].to_owned())));
            }
            _ => {}
        }
        match Self::parse(text, FleetPlan::MAX_WATCHERS, expected)? {
            Self::Here => Err(format!("this machine is watched anyway, where nobody else is; {expected}")),
            Self::Ssh(hosts) => {
                let names: BTreeSet<&str> = hosts.iter().filter_map(|host| host.rsplit('@').next()).collect();
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

/// Whether ssh takes it for a host, and nothing else.
fn is_host(text: &str) -> bool {
    is_word(text, "._-@:[]%")
}

/// Whether a shell takes it for a path, and nothing else.
pub(crate) fn is_remote_path(text: &str) -> bool {
    is_word(text, "/._-+@~")
}

/// Whether it has only letters, digits and this punctuation, and is no option.
fn is_word(text: &str, punctuation: &str) -> bool {
    let inner = |c: char| c.is_alphanumeric() || punctuation.contains(c);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(inner)
}
