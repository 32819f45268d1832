//! Who makes the load, and who watches the target.

use crate::draft::{Draft, SourceText};
use crate::fleet::is_remote_path;
use crate::{Arrivals, Error, FleetPlace, FleetPlan, Key, Load, SearchPlan, Target, Task, WatchPlan};
use units::Rate;

/// Drawing a random arrival takes 15 ns: above this rate, more than a thirtieth of a loop's time.
const MAX_RANDOM_RATE: Rate = Rate(2e6);

impl Draft {
    pub(super) fn fleet(&self, target: &Target, task: &Task, watch: &WatchPlan) -> Result<FleetPlan, Error> {
        let top = &self.top;
        let place = |key, parse: fn(&str) -> Result<FleetPlace, String>| {
            let given = top.one(key).map(|given| parse(given.text.trim()).map_err(|why| given.error(why)));
            given.transpose()
        };
        let on = place(Key::FleetOn, FleetPlace::parse_workers)?;
        let watch_on = place(Key::WatchOn, FleetPlace::parse_watchers)?;
        let any = |is: fn(&FleetPlace) -> bool| on.iter().chain(&watch_on).any(is);
        let is_hosts = |place: &FleetPlace| matches!(place, FleetPlace::Ssh(_));
        let is_joined = |place: &FleetPlace| matches!(place, FleetPlace::Join(_));
        let refuse = |is: bool, key, why: &str| if is { Err(top.error_at(key, why)) } else { Ok(()) };
        let has = |key| top.has(key);
        if let Task::Try(_) = task {
            refuse(
                matches!(on, Some(FleetPlace::Pods(_))),
                Key::FleetOn,
                "an experiment starts its service on this machine, and pods load what runs in their cluster: say here, ssh:HOST or join",
            )?;
            let why =
                "an experiment starts its service on this machine, which is watched anyway: leave it out";
            refuse(has(Key::WatchOn), Key::WatchOn, why)?;
        }
        refuse(
            has(Key::Workers) && on.is_none(),
            Key::Workers,
            "it says how many processes generate the load, but not where: add --on, or on in [fleet], with here, join or k8s",
        )?;
        refuse(
            has(Key::Workers) && on.as_ref().is_some_and(is_hosts),
            Key::Workers,
            "each host of ssh has one: name a host twice for two",
        )?;
        refuse(
            has(Key::WorkerCpus) && on.is_none(),
            Key::WorkerCpus,
            "it is for the workers of a fleet, and no --on, or on in [fleet], says where they are; --cores is for this process",
        )?;
        refuse(
            has(Key::Watchers) && !watch_on.as_ref().is_some_and(is_joined),
            Key::Watchers,
            "only watchers of join are counted, each host of ssh and each node of the target's pods has one: leave it out",
        )?;
        refuse(
            has(Key::RemoteBinary) && !any(is_hosts),
            Key::RemoteBinary,
            "it is for the hosts of ssh: leave it out",
        )?;
        refuse(
            has(Key::Wait) && !any(|place| !matches!(place, FleetPlace::Here | FleetPlace::Ssh(_))),
            Key::Wait,
            "only those of join, and pods, are waited for: leave it out",
        )?;
        refuse(
            on.is_some() && max_poisson_rate(task) > MAX_RANDOM_RATE,
            Key::FleetOn,
            "a fleet makes at most 2,000,000 arrivals a second at random: each of its loops draws all of them; ask for \
             fewer, or for --arrivals even",
        )?;
        refuse(
            watch_on.is_some() && !watch.on,
            Key::WatchOn,
            "nothing is watched, as was asked for: leave that or this out",
        )?;
        refuse(
            watch_on.is_some() && *target == Target::Null,
            Key::WatchOn,
            "null is no target that could be watched: leave it out",
        )?;
        Ok(FleetPlan {
            workers: top.one(Key::Workers).map(head_count).transpose()?,
            watchers: top.count(Key::Watchers, FleetPlan::MAX_WATCHERS, "a number of watchers")?,
            worker_cpus: top.count(Key::WorkerCpus, FleetPlan::MAX_CPUS, "a number of processors")?,
            wait: top.time(Key::Wait)?,
            remote_binary: top.one(Key::RemoteBinary).map(remote_path).transpose()?,
            on,
            watch_on,
        })
    }
}

/// Initial and maximum number: `4`, `4..16`.
fn head_count(given: &SourceText) -> Result<(u32, u32), Error> {
    let most = FleetPlan::MAX_WORKERS;
    let count = |text: &str| text.trim().parse().ok().filter(|count| (1..=most).contains(count));
    let (first, last) = given.text.split_once("..").unwrap_or((&given.text, &given.text));
    count(first).zip(count(last)).filter(|(least, most)| least <= most).ok_or_else(|| {
        given.error(format!(
            "'{}' is no number of workers; expected how many, from 1 to {most}, or from how many to how many, such as 4..16",
            given.text
        ))
    })
}

/// The path goes through a shell.
fn remote_path(given: &SourceText) -> Result<String, Error> {
    let text = given.text.trim();
    if is_remote_path(text) {
        return Ok(text.to_owned());
    }
    Err(given.error("expected a path of letters, digits, and / . _ - + @ ~"))
}

/// The highest rate of random arrivals.
fn max_poisson_rate(task: &Task) -> Rate {
    let of_search =
        |find: &SearchPlan| if find.arrivals == Arrivals::Poisson { find.max } else { Rate::ZERO };
    match task {
        Task::Find(find) => of_search(find),
        Task::Try(experiment) => of_search(&experiment.find),
        Task::Run(Load::Open { stages, arrivals: Arrivals::Poisson }) => {
            Rate(stages.iter().map(|stage| stage.from.0.max(stage.to.0)).fold(0.0, f64::max))
        }
        Task::Run(_) => Rate::ZERO,
    }
}
