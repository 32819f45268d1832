//! Where one process's time goes: from a sample, one after the other, after the storm.

use super::{measured, note};
use crate::{Sink, StopFlag};
use engine::{LoadCommand, LoadGenerator, OfferedLoad};
use record::{FigureUnit, Summand};
use service::Guard;
use stats::{Histogram, Median};
use std::collections::BTreeMap;
use std::process::{Command as Traced, Stdio};
use std::time::{Duration, Instant};
use storm::{MinimalProgram, ProgramCommand, Storm, StormOptions, StormStats};
use trace::TraceLimits;
use units::{Nanos, Share};

/// Sample size as a fraction of the storm (1/n).
const ONE_IN: u64 = 100;
/// Smallest sample, for a median.
const LEAST: u64 = 10;
/// Largest sample.
const MOST: u64 = 50;
/// Time limit per method.
const TIME: Duration = Duration::from_secs(3);
/// Processes recorded by the kernel's tracepoints, which slow them little.
const RECORDED: u64 = 200;
/// System calls shown.
const SHOWN: usize = 12;
/// Most stops of a traced program, and most steps of a single-stepped one.
const STOPS: u64 = 1_000_000;
const STEPS: u64 = 3_000_000;
/// Makes glibc's loader list what it has loaded and exit, instead of running the program (ld.so(8)).
const ONLY_LOAD: &str = "LD_TRACE_LOADED_OBJECTS";

/// Reports where one process's time goes. What cannot be measured is noted, and the rest reported.
pub(super) fn split(asked: &super::StormRequest, account: &StormStats, sink: &mut dyn Sink, stop: &StopFlag) {
    let sample = (account.started / ONE_IN).clamp(LEAST, MOST);
    if let Err(why) = parts(asked, sample, sink, stop) {
        note(format!("the parts of a process's time were not measured: {why}"), sink);
    }
    if stop.is_requested() {
        return;
    }
    let recorded = recorded(asked, sink, stop);
    if let Err(why) = &recorded
        && let Err(also) = traced_one_by_one(&asked.command, sample, why, sink, stop)
    {
        note(format!("system calls were not counted: {why}; {also}"), sink);
    }
    if !stop.is_requested() {
        cpuids(&asked.command, account, sink);
    }
}

/// Spawn, loader, run, exit: derived from three programs that share some of them.
fn parts(
    asked: &super::StormRequest,
    sample: u64,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<(), String> {
    let bare = MinimalProgram::new().map_err(|why| why.to_string())?;
    let own = asked.command.clone();
    let whole = measure_medians(&own, 1, asked.options.timeout, sample, stop)?;
    let nothing = measure_medians(&bare.command(), 1, asked.options.timeout, MOST, stop)?;
    let loading = match own.uses_glibc_loader() {
        true => Some(measure_medians(&own.with((ONLY_LOAD, "1")), 1, asked.options.timeout, sample, stop)?),
        false => None,
    };
    let after = |of: &SpawnMedians| of.whole - of.spawn;
    let exit = after(&nothing);
    let loader = loading.as_ref().map_or(Nanos::ZERO, |loading| after(loading) - exit);
    let run = after(&whole) - exit - loader;
    let rows = [
        ("spawn and exec", whole.spawn, "until the call that starts it returns"),
        ("loader", loader, "as long as the same program takes that only loads, less exit and wait"),
        ("run", run, "what is left of the whole"),
        ("exit and wait", exit, "as long as a program takes that only ends"),
    ];
    for (row, time, what) in rows {
        let figure =
            storm::process_figure(row, "time, one alone", FigureUnit::Nanos, &[time.0 as f64], whole.count);
        measured(figure.map(|figure| record::Figure { argument: Some(what.to_owned()), ..figure }), sink);
    }
    let SpawnMedians { spawn, whole, count } = whole;
    let parts = rows.iter().filter(|(_, time, _)| time.0 > 0);
    let parts = parts.map(|(row, time, _)| Summand::new(*row, time.0 as f64)).collect();
    let all =
        storm::process_figure("all of it", "time, one alone", FigureUnit::Nanos, &[whole.0 as f64], count);
    measured(all.map(|figure| record::Figure { parts, ..figure }), sink);
    let text = format!(
        "one alone takes {whole}: spawn and exec {spawn}, loader {loader}, run {run}, exit and wait {exit} (medians of {count}, one after the other)"
    );
    note(text, sink);
    Ok(())
}

/// Medians over processes, this many at once.
struct SpawnMedians {
    spawn: Nanos,
    whole: Nanos,
    count: u64,
}

fn measure_medians(
    command: &ProgramCommand,
    parallel: u32,
    timeout: Nanos,
    count: u64,
    stop: &StopFlag,
) -> Result<SpawnMedians, String> {
    let options = StormOptions { parallel, timeout, ..StormOptions::default() };
    let mut storm = Storm::new(command, options).map_err(|why| why.to_string())?;
    let offer =
        OfferedLoad::Closed { connections: parallel, requests: Some(count), duration: Some(TIME.into()) };
    let counted = storm.run_trial(&offer, timeout, &mut |_| {}, &mut |_| {}, &mut |_, _| {
        if stop.is_requested() { LoadCommand::Kill } else { LoadCommand::GoOn }
    });
    storm.settle(Nanos::ZERO, &|| stop.is_requested());
    let account = storm.trial_stats().first().ok_or("nothing was started")?;
    let median = |times: &Histogram| times.quantile(0.5).ok_or("none ended as expected");
    Ok(SpawnMedians {
        spawn: median(&account.spawn)?,
        whole: median(&counted.total.service)?,
        count: account.ended,
    })
}

/// System calls from the kernel's tracepoints, with as many processes at once as in the storm.
///
/// Fails, saying why, where that is not permitted.
fn recorded(asked: &super::StormRequest, sink: &mut dyn Sink, stop: &StopFlag) -> Result<(), String> {
    let instances = trace::find_instances()?;
    let mut guard = Guard::start(&asked.program).map_err(|why| why.to_string())?;
    let instance = guard.temporary_folder(Some(instances)).map_err(|why| why.to_string())?;
    let points = trace::TracepointRecorder::begin(&instance)?;
    measure_medians(&asked.command, asked.options.parallel, asked.options.timeout, RECORDED, stop)?;
    let recorded = points.end()?;
    if recorded.programs == 0 {
        return Err(
            "the kernel's tracepoints have recorded no program from its beginning to its end".to_owned()
        );
    }
    let each = |value: f64| vec![value / recorded.programs as f64];
    let all: u64 = recorded.costs.iter().map(|cost| cost.time.0).sum();
    let calls = recorded.costs.iter().map(|cost| CallCost {
        name: name(cost),
        counts: each(cost.count as f64),
        times: each(cost.time.0 as f64),
        shares: vec![cost.time.0 as f64 / all.max(1) as f64],
    });
    let cut = match recorded.cut {
        0 => String::new(),
        cut => format!("; {cut} more did not fit into the kernel's buffers"),
    };
    let how = format!(
        "by the kernel's tracepoints, on {} processes, {} at once, which only the recording slows; times are from the call to \
         its return, waiting included{cut}",
        recorded.programs,
        asked.options.parallel.min(RECORDED as u32)
    );
    tell(calls.collect(), recorded.programs, &how, sink);
    Ok(())
}

/// The same for a sample under ptrace(2), one process after the other; notes why it is not the kernel's record.
fn traced_one_by_one(
    command: &ProgramCommand,
    sample: u64,
    why: &str,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<(), String> {
    let began = Instant::now();
    let mut runs = 0;
    let mut found: BTreeMap<String, CallCost> = BTreeMap::new();
    while runs < sample && began.elapsed() < TIME && !stop.is_requested() {
        let limits = TraceLimits { time: TIME, stops: STOPS };
        let calls = trace::trace_syscalls(traced(command), limits).map_err(|why| why.to_string())?;
        runs += 1;
        let all: u64 = calls.costs.iter().map(|cost| cost.time.0).sum();
        for cost in &calls.costs {
            let name = name(cost);
            let call = found.entry(name.clone()).or_insert(CallCost { name, ..CallCost::default() });
            call.counts.push(cost.count as f64);
            call.shares.push(cost.time.0 as f64 / all.max(1) as f64);
        }
    }
    let mut found: Vec<CallCost> = found.into_values().collect();
    found.sort_by(|a, b| middle(&b.shares).total_cmp(&middle(&a.shares)));
    let how = format!(
        "by ptrace, on {runs} processes alone, which it slows; the counts are exact, the times are shares ({why})"
    );
    tell(found, runs, &how, sink);
    Ok(())
}

/// One system call, by process.
#[derive(Default)]
struct CallCost {
    name: String,
    counts: Vec<f64>,
    /// Empty where only shares are known.
    times: Vec<f64>,
    shares: Vec<f64>,
}

fn name(cost: &trace::SyscallCost) -> String {
    cost.name.map_or_else(|| format!("number {}", cost.number), str::to_owned)
}

fn middle(values: &[f64]) -> f64 {
    Median::of(values).map_or(0.0, |found| found.median)
}

fn tell(calls: Vec<CallCost>, processes: u64, how: &str, sink: &mut dyn Sink) {
    for call in calls.iter().take(SHOWN) {
        for (column, unit, values) in [
            ("each process", FigureUnit::Count, &call.counts),
            ("time in it, each process", FigureUnit::Nanos, &call.times),
            ("share of the time in calls", FigureUnit::Share, &call.shares),
        ] {
            let figure = storm::process_figure(&call.name, column, unit, values, processes);
            measured(figure.map(|figure| record::Figure { table: CALLS.to_owned(), ..figure }), sink);
        }
    }
    let each: f64 =
        calls.iter().map(|call| call.counts.iter().sum::<f64>() / call.counts.len().max(1) as f64).sum();
    if let Some(first) = calls.first() {
        let share = Share((middle(&first.shares) * 100.0).round() / 100.0);
        let text = format!(
            "{each:.0} system calls a process, most of their time in {} ({share}): {how}",
            first.name
        );
        sink.event(&record::Event::Noted { table: CALLS.to_owned(), text });
    }
}

/// Name of the table of system calls.
const CALLS: &str = "system calls";

/// What a hypervisor adds to each start: every CPUID exits to it.
fn cpuids(command: &ProgramCommand, account: &StormStats, sink: &mut dyn Sink) {
    let limits = TraceLimits { time: TIME * 2, stops: STEPS };
    // Other architectures have none.
    let Ok(steps) = trace::count_instructions(traced(command), limits) else { return };
    let Some(each) = storm::cpuid_time().filter(|_| steps.cpuid > 0) else { return };
    let count = if steps.complete { steps.cpuid.to_string() } else { format!("at least {}", steps.cpuid) };
    let sum = each * steps.cpuid;
    for (row, unit, value) in
        [("CPUID instructions", FigureUnit::Count, steps.cpuid), ("time in them", FigureUnit::Nanos, sum.0)]
    {
        measured(storm::process_figure(row, "each process", unit, &[value as f64], 1), sink);
    }
    let of = account.processor_time_per_process().map_or_else(String::new, |all| {
        format!(
            " of the {all} of processor time that a process takes ({:.0} %)",
            100.0 * sum.0 as f64 / all.0.max(1) as f64
        )
    });
    let text = format!(
        "each start executes {count} CPUID instructions of {each}, together {sum}{of}; in a virtual machine each is carried out by the hypervisor"
    );
    note(text, sink);
}

/// The program as the tracer starts it.
fn traced(command: &ProgramCommand) -> Traced {
    let mut traced = Traced::new(&command.path);
    traced.args(command.words.iter().skip(1));
    traced.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    traced
}
