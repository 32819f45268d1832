//! The details of a caveat, and the sentence made from them. A run stores the figures, so that any version shows them in its own words.
//! The sentence is made here, and not in `view`, because lower crates quote it: `diagnosis` as evidence, `runner` as the reason why a
//! start is void.

use crate::{ExhaustedResource, Failure, LostMember, SearchEnd};
use serde::{Deserialize, Serialize};
use units::{Nanos, Rate, Share, grouped};

/// The details of a caveat, stored by these names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the sentence below says what each figure is")]
pub enum CaveatDetails {
    /// A sentence: all that earlier versions stored, and caveats whose wording needs the rule that found them: an experiment's analysis,
    /// a table of figures, a comparison of runs.
    Text(String),
    /// Share of arrivals, and how much is allowed.
    Unsent { share: Share, most: Share },
    /// The generator's own lateness, and how much is allowed.
    Late { p99: Nanos, most: Nanos },
    /// Arrivals due, and planned.
    Due { due: u64, planned: f64 },
    /// Fewer arrivals were sent than due.
    Sent { sent: u64, due: u64 },
    /// By how much the sides of Little's law differ, and are allowed to.
    Differ { share: Share, most: Share },
    /// Arrivals that failed for lack of a resource.
    Lacking { lack: ExhaustedResource, arrivals: u64 },
    /// What the generator's loops did, as shares of their time.
    Busy { worked: Share, waited: Share },
    /// Share of the processors' time during a load.
    Stolen { share: Share },
    /// The machine's speed in its slowest and fastest stretch of a trial's length, relative to the mean.
    Speeds { slowest: Share, quickest: Share },
    /// Programs on the target's machine, the busiest first; the processors they used together; and how long the target waited for one, as
    /// a share of the time it wanted one.
    Neighbours { names: Vec<String>, used: f64, waited: Share },
    /// Rate at first and at the end, by a line through what all trials measured, and the requests of all.
    Slowed { first: Rate, last: Rate, due: u64 },
    /// The load after which it went on working, for at least how long, on how many processors.
    WorkedOn { after: Rate, lasted: Nanos, used: f64 },
    /// The number of connections, all busy.
    Crowded { connections: u64 },
    /// Connections that the target serves at a time.
    Places { places: u64 },
    /// Answers on a connection before the target closes it.
    Answers { answers: u64 },
    /// Share of answers held back, and for how long, on average.
    HeldBack { share: Share, pause: Nanos },
    /// Connections held before torment ran out of something.
    NoMore { lack: ExhaustedResource, open: u64 },
    /// Connections wanted, made, and left at the end.
    Held { asked: u64, made: u64, stood: u64, refused: Option<Failure> },
    /// Files this process may open, and the connections they leave room for.
    FewFiles { allowed: u64, room: u64 },
    /// For connections to the target.
    FewPorts { ports: u64 },
    /// About one worker of a fleet.
    OfMember {
        member: u32,
        /// Where it is, if known here.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        place: String,
        grounds: Box<Self>,
    },
    /// Which worker, and what it left unaccounted.
    Lost(LostMember),
    /// p99 of its answers, and of the median worker's.
    Uneven { p99: Nanos, median: Nanos },
    /// The machine that is both the worker's and the target's.
    Beside { place: String },
    /// The worker's machine, its architecture, and its program's version.
    Unlike { place: String, arch: String, version: String },
    /// Workers that the load needs, and those available.
    NoRoom { wanted: u32, there: u32, why: String },
    /// The trial it was to precede.
    NotReset { trial: u32, why: String },
    /// Seconds missed.
    Missed { seconds: u64 },
    /// How a start's search ended without a limit; none if it came to no verdict.
    NoLimit { ended: Option<SearchEnd> },
    /// Requests, and how most of the bad ones failed.
    NotAnswered { bad: u64, due: u64, most: Option<Failure> },
    /// Duration of a storm.
    Short { loaded: Nanos },
}

impl CaveatDetails {
    /// What was found, and what can be done.
    pub(super) fn sentence(&self) -> String {
        let percent = |share: &Share| format!("{:.0} %", 100.0 * share.0);
        match self {
            Self::Text(text) => text.clone(),
            // The remedy depends on the machine and the goal, which are unknown here.
            Self::Unsent { share, most } => {
                format!("torment itself left {share} of the arrivals unsent (limit: {most})")
            }
            Self::Late { p99, most } => format!("torment itself was {p99} late at p99 (limit: {most})"),
            Self::Due { due, planned } => format!(
                "{due} arrivals came due where {planned:.0} were planned: the schedule was not kept, \
                 repeat the trial"
            ),
            Self::Sent { sent, due } => format!(
                "only {sent} of {due} arrivals were sent, and nothing says why: please report this as a bug in \
                 torment"
            ),
            Self::Differ { share, most } => format!(
                "mean arrivals outstanding and rate × mean response time differ by {share} (limit: \
                 {most}): the times cannot be trusted, look for a busy generator"
            ),
            Self::Lacking { lack, arrivals } => {
                let arrival = if *arrivals == 1 { "arrival" } else { "arrivals" };
                let (count, advice) = (grouped(*arrivals), advice(*lack));
                format!("{count} {arrival} failed for lack of a {lack}; {advice}")
            }
            Self::Busy { worked, waited } => format!(
                "torment itself worked {} of the time and waited {} for a processor",
                percent(worked),
                percent(&beside(*worked, *waited))
            ),
            Self::Stolen { share } => format!(
                "the hypervisor gave {} of this machine's processor time to others; repeat at a quieter time",
                percent(share)
            ),
            Self::Speeds { slowest, quickest } => format!(
                "the machine's own speed varied between {} and {} of the usual from trial to trial: other guests on the host, \
                 or a varying clock frequency; the target's capacity varies with it, so repeat at a quieter time, or on a machine that is not shared",
                percent(slowest),
                percent(quickest)
            ),
            Self::Neighbours { names, used, waited } => format!(
                "other programs on the target's machine ({}) used {used:.1} processors, and the target waited {} of the time for one: without them \
                 it can serve more, so stop them or pin them to other processors, and measure again",
                names.join(", "),
                percent(waited)
            ),
            Self::Slowed { first, last, due } => format!(
                "the target slowed down from trial to trial: about {first} at first, {last} at the end, after {} requests; its capacity \
                 depends on how long it has run, so look for what grows in it: memory, a table, a queue",
                grouped(*due)
            ),
            Self::WorkedOn { after, lasted, used } => format!(
                "the target kept {used:.1} processors busy for {lasted} after a load of {after}, though hardly any requests came then: it defers \
                 work that its answers do not wait for, so a longer load may be too much at the same rate; try longer trials (--trial 60s)"
            ),
            // Whether more or fewer would help is for the diagnosis to say.
            Self::Crowded { connections } => format!(
                "all {} connections were busy (--max-connections): further arrivals waited in torment, where the target \
                 does not see them",
                grouped(*connections)
            ),
            Self::Places { places } => {
                let connections = if *places == 1 { "connection" } else { "connections" };
                format!(
                    "the target serves {} {connections} at a time, and further clients wait until one closes: torment resets \
                     idle ones to make room, other clients may not; give it more workers, a proxy in front, or a shorter keep-alive",
                    grouped(*places)
                )
            }
            Self::Answers { answers } => {
                let answers = if *answers == 1 {
                    "its answer".to_owned()
                } else {
                    format!("{} answers", grouped(*answers))
                };
                format!(
                    "the target closes each connection after {answers} without announcing it (Connection: close): torment makes new ones in \
                     time, other clients may lose requests; have it keep connections open, or announce their end"
                )
            }
            Self::HeldBack { share, pause } => format!(
                "{} of the answers were complete only {pause} after their first bytes: the target writes an answer in pieces, and Nagle's algorithm \
                 holds back the next until the first is acknowledged, which the client's kernel delays by 40 ms; the target does no work meanwhile, so this \
                 costs capacity only if its connections or workers are few; set TCP_NODELAY on its connections, or write each answer at once",
                percent(share)
            ),
            Self::NoMore { lack, open } => {
                format!("torment has no {lack} left for more than {open} connections")
            }
            Self::Held { asked, made, refused: Some(why), .. } => {
                let why = match why {
                    Failure::Connect(why) | Failure::Full(why) => why.clone(),
                    lacking => lacking.to_string(),
                };
                format!("{made} of {asked} connections could be made: {why}")
            }
            Self::Held { asked, made, .. } if made < asked => {
                let closed = asked - made;
                format!("the target closed {closed} of {asked} connections as soon as they were made")
            }
            Self::Held { asked, stood, .. } => {
                let closed = asked.saturating_sub(*stood);
                format!("the target closed {closed} of {asked} connections on which no request was sent")
            }
            Self::FewFiles { allowed, room } => format!(
                "this process may open {allowed} files, so at most {room} connections are made; raise the hard \
                 limit (ulimit -Hn) for more"
            ),
            Self::FewPorts { ports } => format!(
                "one address has {ports} ports for connections to this target, so no more are made; widen \
                 net.ipv4.ip_local_port_range for more"
            ),
            Self::OfMember { member, place, grounds } if place.is_empty() => {
                format!("worker {member}: {}", grounds.sentence())
            }
            Self::OfMember { member, place, grounds } => {
                format!("worker {member} (on {place}): {}", grounds.sentence())
            }
            Self::Lost(LostMember { member, place, at, unaccounted, why }) => {
                let arrivals = if *unaccounted == 1 { "arrival" } else { "arrivals" };
                let when =
                    if *at == Nanos::ZERO { "before the start".to_owned() } else { format!("after {at}") };
                format!(
                    "worker {member} (on {place}) lost {when}: {why}; {} {arrivals} unaccounted for",
                    grouped(*unaccounted)
                )
            }
            Self::Uneven { p99, median } => format!(
                "its answers take {p99} at p99, against {median} for the median worker, though it sends on time: its path \
                 to the target differs"
            ),
            Self::Unlike { place, arch, version } => format!(
                "{place} has a different architecture ({arch}) from the coordinator's machine: whether its torment {version} was built from the same \
                 sources cannot be checked; build both from the same commit"
            ),
            Self::Beside { place } => format!(
                "{place} is the target's own machine, so the load competes with the target: leave that host out, \
                 unless that is intended"
            ),
            Self::NoRoom { wanted, there, why } => {
                format!("{wanted} workers are needed from here on, but only {there} are available: {why}")
            }
            Self::NotReset { trial, why } => {
                format!("the state was not restored before trial {trial}: {why}")
            }
            Self::Missed { seconds } => format!(
                "the store's disk stalled: {seconds} seconds of the load, or what was observed in them, are not \
                 kept; the results are"
            ),
            Self::NoLimit { ended } => match ended {
                None => "the search came to no verdict",
                Some(SearchEnd::TargetFails) => "only errors came back",
                Some(SearchEnd::BelowMin) => "even the lowest rate failed: lower [find] from",
                Some(SearchEnd::NotRecovered) => "the target did not recover from an overload",
                Some(_) => "the search ended before it found a rate that holds",
            }
            .to_owned(),
            Self::NotAnswered { bad, due, most } => {
                let most = most.as_ref().map_or(String::new(), |why| format!(", most of them: {why}"));
                format!("{bad} of {due} requests were not answered{most}")
            }
            Self::Short { loaded } => {
                format!("{loaded} is too short for clock ticks of 10 ms; give it more processes")
            }
        }
    }
}

/// The waited share in whole percent, such that both together do not exceed 100 %.
fn beside(worked: Share, waited: Share) -> Share {
    let percent = |share: f64| (100.0 * share.min(1.0)).round() / 100.0;
    Share((percent(worked.0 + waited.0) - percent(worked.0)).max(0.0))
}

/// The remedy.
fn advice(lack: ExhaustedResource) -> &'static str {
    match lack {
        ExhaustedResource::Descriptor => "raise ulimit -n, or have fewer open at once (--max-connections)",
        ExhaustedResource::Port => "use keep-alive, or widen net.ipv4.ip_local_port_range",
        ExhaustedResource::Watch => "raise fs.epoll.max_user_watches",
        ExhaustedResource::Memory => "raise net.ipv4.tcp_mem, or have fewer open at once (--max-connections)",
    }
}
