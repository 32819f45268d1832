//! A few threads that all requests pass through, and that are always busy: mostly event loops.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, source};
use crate::format::{format_count, format_number};
use crate::processors::{
    CHEAPER_ADVICE, FULL_UTILISATION, ceiling_by_cost, competing_cpus, connections_advice, host_cpus,
    idle_cpus, is_machine_full, next_limit, separation_advice,
};
use crate::request_path;
use crate::saturated_threads::{MIN_CPU_SHARE, ONE_THREAD, SaturatedThreads};
use crate::workers::is_interpreted;
use record::watch::{ThreadGroup, ThreadWait};
use record::{Cause, Station, StationKind};
use units::{Rate, Share};

/// Who is busy for less than this share of the time is not said to be busy all the time.
const ALL_THE_TIME: f64 = 0.98;

/// Rounds to whole percent.
fn rounded_share(used: f64) -> f64 {
    (used.min(1.0) * 100.0).round() / 100.0
}

impl SaturatedThreads<'_> {
    pub fn finding(&self, case: &Case<'_>) -> RuleFinding {
        let Self { group, threads, used, loops, .. } = self;
        let name = &group.name;
        let is_single = *threads < 1.5;
        let count_text = format_count(threads.round(), if *loops { "event loop" } else { "thread" });
        // More of them need processors to run on.
        let cpu_limited = case.cpus() < threads + 0.5;
        let service = case.name();
        let is_all = case.subject().is_some_and(|subject| subject.name == *name);
        // Next.js appends its version to its name, which the kernel truncates.
        let shown = name.split(" (").next().unwrap_or(name);
        let whose = if is_all { service.to_owned() } else { format!("{service} ({shown})") };
        let sentence = self.sentence(case, &whose, cpu_limited);
        // Another one can use the idle processors.
        let idle = idle_cpus(&case.degraded.merged);
        let gain = if cpu_limited { 2.0 } else { ((threads + idle) / threads).clamp(1.0, 2.0) };
        let when_well = |of: &dyn Fn(&ThreadGroup, f64) -> f64| {
            case.when_well(|side| {
                side.service().group(name).map_or(0.0, |group| of(group, side.observed_seconds()))
            })
        };
        let used_when_well = when_well(&|group, seconds| group.on_cpu_ns as f64 / 1e9 / seconds);
        let station = Station {
            size: Some(threads.round()),
            well: used_when_well
                .zip(case.well.as_ref())
                .map(|(used, well)| request_path::use_of(used, None, &well.load)),
            degraded: Some(request_path::use_of(used * threads, None, &case.degraded.load)),
            ..StationKind::Threads.station(format!("{count_text} ({shown})"))
        };
        // A thread that never rests lacks the remaining time, whoever has it.
        let full = is_machine_full(&case.degraded.merged) || case.cpu() >= FULL_UTILISATION * case.cpus();
        let reached_share = if full { 1.0 } else { *used };
        let mut found = RuleFinding::new(Cause::Cpu)
            .with_sentence(sentence)
            .margin(reached_share, MIN_CPU_SHARE, ONE_THREAD)
            .persisting(case, |window| {
                let seconds = window.length().as_secs_f64();
                let there = window.service().and_then(|service| service.group(name));
                there.is_some_and(|there| self.restless(there, seconds) >= 0.9 * threads.round())
            })
            .sources(2)
            .fact(format!("{shown}: {count_text} busy {} of the time", Share(rounded_share(*used))))
            .measured(*used, ONE_THREAD, "share", source::SCHEDSTAT)
            .well(used_when_well.map(|used| rounded_share(used / threads)));
        let host = host_cpus(&case.degraded.merged);
        if idle >= 0.05 * host {
            let text =
                format!("{} of {} idle meanwhile", format_number(idle), format_count(host, "processor"));
            found = found.fact(text).measured(idle, 0.0, "processors", source::HOST);
        }
        let others = case.cpu() - used * threads;
        if others >= 0.05 * case.cpus() {
            let text = format!("its other threads use {}", format_count(others, "processor"));
            found = found.fact(text).measured(others, 0.0, "processors", source::SCHEDSTAT);
        }
        let there = group.waiting(&ThreadWait::Events);
        let before = when_well(&|group, _| group.waiting(&ThreadWait::Events));
        if *loops && before.is_some_and(|before| before >= there + 0.1 * threads) {
            let text = format!("{} waiting for events", format_count(there, "thread"));
            found = found.fact(text).measured(there, 0.0, "threads", source::SWEEP).well(before);
        }
        let found = found
            .arithmetic(ceiling_by_cost(
                case,
                *threads,
                if is_single { "processor that it can use" } else { "processors that they can use" },
            ))
            .chain(["requests"])
            .limiting(station)
            .chain([match is_single {
                true => "one processor".to_owned(),
                false => format_count(threads.round(), "processor"),
            }]);
        let first = match (loops, cpu_limited) {
            (true, true) => format!("add processors and processes together: {}", self.scale_out_advice(case)),
            (false, _) if case.is_go() => "raise GOMAXPROCS, up to the number of processors".to_owned(),
            // Threads of an interpreter would take turns.
            _ if *loops || case.subject().is_some_and(is_interpreted) => {
                format!("more processes, one for each processor: {}", self.scale_out_advice(case))
            }
            _ => "have more such threads or processes, up to the number of processors".to_owned(),
        };
        let second = match loops {
            true => {
                "or make a request cheaper, or do its work elsewhere: while the loop computes, everything else waits"
                    .to_owned()
            }
            false => format!("or {CHEAPER_ADVICE}"),
        };
        let [thing, things] = if *loops { ["process", "processes"] } else { ["such thread", "such threads"] };
        let alone =
            competing_cpus(case).filter(|_| *used < ONE_THREAD).map(|own| separation_advice(case, own));
        found
            .advise_all(alone)
            .advise(first)
            .advise(second)
            .advise_all(connections_advice(case))
            .predicts(
                match (cpu_limited, is_single) {
                    (true, _) => format!("twice the processors and {things}"),
                    (false, true) => format!("one more {thing}"),
                    (false, false) => format!("twice the {things}"),
                },
                Some(Rate(case.degraded.load.answered * gain)),
                next_limit(case, if cpu_limited { 2.0 * threads } else { gain * threads }),
            )
            .unless("the thread rests for longer in a run that is just as slow")
    }

    /// What `whose` threads do all the time, and what helps; if they are `held` to as many processors, only more of these.
    fn sentence(&self, case: &Case<'_>, whose: &str, cpu_limited: bool) -> String {
        let Self { threads, used, loops, .. } = self;
        let is_single = *threads < 1.5;
        let who = match (loops, is_single) {
            (true, true) => "one event loop".to_owned(),
            (true, false) => format_count(threads.round(), "event loop"),
            (false, _) => format_count(threads.round(), "thread"),
        };
        let which = if is_single { "which" } else { "each of which" };
        let share = rounded_share(*used);
        let time = match share {
            ALL_THE_TIME.. => "all the time".to_owned(),
            _ => format!("{} of the time", Share(share)),
        };
        let does = match (loops, is_single) {
            _ if *used < ONE_THREAD => {
                let beside =
                    competing_cpus(case).map(|own| format!(", while torment uses {}", format_number(own)));
                let beside = beside.unwrap_or_default();
                format!("always wants a processor and has one {time}{beside}")
            }
            (true, true) => format!("keeps one processor busy {time}"),
            (true, false) => format!("keeps a processor busy {time}"),
            (false, _) => format!("is running {time}"),
        };
        let needs = match (loops, cpu_limited) {
            (true, true) => ": it needs more processors, and one process for each",
            (true, false) => ": it needs more processes, not more threads",
            (false, _) => "",
        };
        format!("All requests pass through {who} of {whose}, {which} {does}{needs}.")
    }
}
