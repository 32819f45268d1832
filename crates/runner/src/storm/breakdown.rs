//! Where one process's time goes: from a sample, one after the other, after the storm.

use super::note;
use crate::{Sink, StopFlag, emit_figures};
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
const SAMPLE_DIVISOR: u64 = 100;
/// Smallest sample, for a median.
const SAMPLE_LEAST: u64 = 10;
/// Largest sample.
const SAMPLE_MOST: u64 = 50;
/// Time limit per method.
const TIME_LIMIT: Duration = Duration::from_secs(3);
/// Processes recorded by the kernel's tracepoints, which slow them little.
const RECORDED_PROCESSES: u64 = 200;
/// System calls shown.
const CALLS_SHOWN: usize = 12;
/// Most stops of a traced program, and most steps of a single-stepped one.
const STOPS_MOST: u64 = 1_000_000;
const STEPS_MOST: u64 = 3_000_000;
/// Makes glibc's loader list what it has loaded and exit, instead of running the program (ld.so(8)).
const ONLY_LOAD: &str = "LD_TRACE_LOADED_OBJECTS";

/// Reports where one process's time goes. What cannot be measured is noted, and the rest reported.
pub(super) fn split(request: &super::StormRequest, stats: &StormStats, sink: &mut dyn Sink, stop: &StopFlag) {
    let sample = (stats.started / SAMPLE_DIVISOR).clamp(SAMPLE_LEAST, SAMPLE_MOST);
    if let Err(why) = parts(request, sample, sink, stop) {
        note(format!("the parts of a process's time were not measured: {why}"), sink);
    }
    if stop.is_requested() {
        return;
    }
    let call_record = record_calls(request, sink, stop);
    if let Err(why) = &call_record
        && let Err(also) = traced_one_by_one(&request.command, sample, why, sink, stop)
    {
        note(format!("system calls were not counted: {why}; {also}"), sink);
    }
    if !stop.is_requested() {
        note_cpuid_cost(&request.command, stats, sink);
    }
}

/// Spawn, loader, run, exit: derived from three programs that share some of them.
fn parts(
    request: &super::StormRequest,
    sample: u64,
    sink: &mut dyn Sink,
    stop: &StopFlag,
) -> Result<(), String> {
    let bare = MinimalProgram::new().map_err(|why| why.to_string())?;
    let own = request.command.clone();
    let alone = |of: &ProgramCommand, count| measure_medians(of, 1, request.options.timeout, count, stop);
    let after = |of: &SpawnMedians| of.whole - of.spawn;
    let whole = alone(&own, sample)?;
    let exit = after(&alone(&bare.command(), SAMPLE_MOST)?);
    let loader = if own.uses_glibc_loader() {
        after(&alone(&own.with_env((ONLY_LOAD, "1")), sample)?) - exit
    } else {
        Nanos::ZERO
    };
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
        emit_figures(figure.map(|figure| record::Figure { argument: Some(what.to_owned()), ..figure }), sink);
    }
    let SpawnMedians { spawn, whole, count } = whole;
    let parts = rows.iter().filter(|(_, time, _)| time.0 > 0);
    let parts = parts.map(|(row, time, _)| Summand::new(*row, time.0 as f64)).collect();
    let all =
        storm::process_figure("all of it", "time, one alone", FigureUnit::Nanos, &[whole.0 as f64], count);
    emit_figures(all.map(|figure| record::Figure { parts, ..figure }), sink);
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
    let offer = OfferedLoad::Closed {
        connections: parallel,
        requests: Some(count),
        duration: Some(TIME_LIMIT.into()),
    };
    let counted = storm.run_trial(&offer, timeout, &mut |_| {}, &mut |_| {}, &mut |_, _| {
        if stop.is_requested() { LoadCommand::Kill } else { LoadCommand::Continue }
    });
    storm.settle(Nanos::ZERO, &|| stop.is_requested());
    let stats = storm.trial_stats().first().ok_or("nothing was started")?;
    let median = |times: &Histogram| times.quantile(0.5).ok_or("none ended as expected");
    Ok(SpawnMedians {
        spawn: median(&stats.spawn_times)?,
        whole: median(&counted.total.service)?,
        count: stats.ended,
    })
}

/// System calls from the kernel's tracepoints, with as many processes at once as in the storm.
///
/// Fails, saying why, where that is not permitted.
fn record_calls(request: &super::StormRequest, sink: &mut dyn Sink, stop: &StopFlag) -> Result<(), String> {
    let instances = trace::find_instances()?;
    let mut guard = Guard::start(&request.program).map_err(|why| why.to_string())?;
    let instance = guard.temporary_folder(Some(instances)).map_err(|why| why.to_string())?;
    let points = trace::TracepointRecorder::begin(&instance)?;
    measure_medians(
        &request.command,
        request.options.parallel,
        request.options.timeout,
        RECORDED_PROCESSES,
        stop,
    )?;
    let call_record = points.end()?;
    if call_record.programs == 0 {
        return Err(
            "the kernel's tracepoints have recorded no program from its beginning to its end".to_owned()
        );
    }
    let each = |value: f64| vec![value / call_record.programs as f64];
    let all: u64 = call_record.costs.iter().map(|cost| cost.time.0).sum();
    let calls = call_record.costs.iter().map(|cost| CallCost {
        name: name(cost),
        counts: each(cost.count as f64),
        times: each(cost.time.0 as f64),
        shares: vec![cost.time.0 as f64 / all.max(1) as f64],
    });
    let cut = match call_record.truncated {
        0 => String::new(),
        cut => format!("; {cut} more did not fit into the kernel's buffers"),
    };
    let how = format!(
        "by the kernel's tracepoints, on {} processes, {} at once, which only the recording slows; times are from the call to \
         its return, waiting included{cut}",
        call_record.programs,
        request.options.parallel.min(RECORDED_PROCESSES as u32)
    );
    emit_calls(calls.collect(), call_record.programs, &how, sink);
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
    while runs < sample && began.elapsed() < TIME_LIMIT && !stop.is_requested() {
        let limits = TraceLimits { time: TIME_LIMIT, stops: STOPS_MOST };
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
    found.sort_by(|a, b| median_of(&b.shares).total_cmp(&median_of(&a.shares)));
    let how = format!(
        "by ptrace, on {runs} processes alone, which it slows; the counts are exact, the times are shares ({why})"
    );
    emit_calls(found, runs, &how, sink);
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

fn median_of(values: &[f64]) -> f64 {
    Median::of(values).map_or(0.0, |found| found.median)
}

fn emit_calls(calls: Vec<CallCost>, processes: u64, how: &str, sink: &mut dyn Sink) {
    for call in calls.iter().take(CALLS_SHOWN) {
        for (column, unit, values) in [
            ("each process", FigureUnit::Count, &call.counts),
            ("time in it, each process", FigureUnit::Nanos, &call.times),
            ("share of the time in calls", FigureUnit::Share, &call.shares),
        ] {
            let figure = storm::process_figure(&call.name, column, unit, values, processes);
            emit_figures(
                figure.map(|figure| record::Figure { table: CALLS_TABLE.to_owned(), ..figure }),
                sink,
            );
        }
    }
    let each: f64 =
        calls.iter().map(|call| call.counts.iter().sum::<f64>() / call.counts.len().max(1) as f64).sum();
    if let Some(first) = calls.first() {
        let share = Share((median_of(&first.shares) * 100.0).round() / 100.0);
        let text = format!(
            "{each:.0} system calls a process, most of their time in {} ({share}): {how}",
            first.name
        );
        sink.event(&record::Event::Noted { table: CALLS_TABLE.to_owned(), text });
    }
}

/// Name of the table of system calls.
const CALLS_TABLE: &str = "system calls";

/// What a hypervisor adds to each start: every CPUID exits to it.
fn note_cpuid_cost(command: &ProgramCommand, stats: &StormStats, sink: &mut dyn Sink) {
    let limits = TraceLimits { time: TIME_LIMIT * 2, stops: STEPS_MOST };
    // Other architectures have none.
    let Ok(steps) = trace::count_instructions(traced(command), limits) else { return };
    let Some(each) = storm::cpuid_time().filter(|_| steps.cpuid > 0) else { return };
    let count = if steps.complete { steps.cpuid.to_string() } else { format!("at least {}", steps.cpuid) };
    let sum = each * steps.cpuid;
    for (row, unit, value) in
        [("CPUID instructions", FigureUnit::Count, steps.cpuid), ("time in them", FigureUnit::Nanos, sum.0)]
    {
        emit_figures(storm::process_figure(row, "each process", unit, &[value as f64], 1), sink);
    }
    let of = stats.processor_time_per_process().map_or_else(String::new, |all| {
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
    traced.args(command.argv.iter().skip(1));
    traced.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    traced
}
