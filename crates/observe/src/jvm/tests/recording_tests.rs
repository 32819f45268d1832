//! Recordings of real machines: that they say what is known to be so, what the JDK's own reader says, and that nothing stays behind.

use super::{Program, installed};
use crate::jvm::{JvmRecording, compiled_code};
use flight::{Flight, FrameKind, Waiting};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(60);

fn burning(java: &Path, options: &[&str]) -> Program {
    Program::running(java, options, "Burns.java", &[])
}

fn recorded(pid: u32, lasting: Duration) -> Vec<u8> {
    let recording = JvmRecording::start(pid, LONGEST).unwrap_or_else(|why| panic!("{pid}: {why}"));
    sleep(lasting);
    recording.finish().unwrap_or_else(|why| panic!("{pid}: {why}"))
}

fn read(bytes: &[u8]) -> Flight {
    let flight = flight::read(bytes).expect("a machine wrote it");
    assert!(!flight.cut && flight.left_out == 0, "it was finished: {:?}", flight.settings);
    flight
}

fn method(flight: &Flight, frame: &flight::JavaFrame) -> String {
    let method = &flight.methods[frame.method as usize];
    format!("{}.{}", method.class, method.name)
}

fn thread(flight: &Flight, thread: Option<u32>) -> &str {
    thread.map_or("", |thread| &flight.threads[thread as usize].name)
}

/// How often `of` says so of the stacks of these threads.
fn counted(
    flight: &Flight,
    threads: &str,
    of: impl Fn(&[flight::JavaFrame]) -> String,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for sample in &flight.samples {
        if thread(flight, sample.thread).starts_with(threads)
            && let Some(stack) = sample.stack
        {
            *counts.entry(of(&flight.stacks[stack as usize].frames)).or_default() += 1;
        }
    }
    counts
}

/// Seven parts in ten of the work are in the first, the rest in the second.
fn assert_seven_in_ten(java: &Path, counts: &BTreeMap<String, usize>, [seven, three]: [&str; 2]) {
    let of = |name: &str| counts.get(name).copied().unwrap_or(0) as f64;
    let samples = counts.values().sum::<usize>() as f64;
    // Three points at a thousand samples; where the processors are full there are fewer, and chance has more to say.
    let doubt = (4.0 * (0.7_f64 * 0.3 / samples).sqrt()).max(0.03);
    let [a, b] = [of(seven) / samples, of(three) / samples];
    eprintln!("{java:?}: of {samples} samples {a:.3} in {seven}, {b:.3} in {three}");
    assert!(samples >= 100.0 && (a - 0.7).abs() <= doubt && (b - 0.3).abs() <= doubt, "{doubt}: {counts:?}");
}

/// What is in the temporary folder that a recorder makes: `2026_11_26_02_30_05_19678`.
fn repositories(pid: u32) -> Vec<String> {
    let names = std::fs::read_dir("/tmp").expect("it is there").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("20") && name.ends_with(&format!("_{pid}"))).collect()
}

#[test]
fn a_recording_says_what_is_known_to_be_so() {
    for java in installed() {
        let program = burning(&java, &["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]);
        let flight = read(&recorded(program.pid(), Duration::from_secs(8)));
        assert_eq!(repositories(program.pid()), Vec::<String>::new());

        // The recorder still names the folder that has gone.
        assert!(!read(&recorded(program.pid(), Duration::from_secs(1))).samples.is_empty());
        assert_eq!(repositories(program.pid()), Vec::<String>::new());

        let innermost = counted(&flight, "burner-", |frames| method(&flight, &frames[0]));
        assert_seven_in_ten(&java, &innermost, ["Burns.seventy", "Burns.thirty"]);
        assert_eq!(flight.sample_period_ns(), Some(10_000_000));

        let deep = flight.samples.iter().filter(|s| thread(&flight, s.thread) == "digger");
        let deep: Vec<_> = deep.filter_map(|s| s.stack).map(|n| &flight.stacks[n as usize]).collect();
        assert!(deep.iter().any(|stack| stack.truncated && stack.frames.len() == 64), "{deep:?}");
        assert!(deep.iter().all(|stack| stack.frames.iter().all(|frame| frame.kind != FrameKind::Other)));

        let entered = flight.waits.iter().filter(|wait| wait.waiting == Waiting::Enter);
        let entered: Vec<_> = entered.filter(|w| w.class.as_deref() == Some("Burns$Gate")).collect();
        assert!(entered.len() > 20, "{:?}", flight.waits);
        for wait in entered {
            let (who, holder) = (thread(&flight, wait.thread), thread(&flight, wait.other));
            assert!(who.starts_with("holder-") && holder.starts_with("holder-") && who != holder, "{wait:?}");
            let stack = &flight.stacks[wait.stack.expect("it has one") as usize];
            assert_eq!(method(&flight, &stack.frames[0]), "Burns.hold");
            assert!(wait.duration_ns > 1_000_000);
        }
        let parked = flight.waits.iter().filter(|wait| wait.waiting == Waiting::Park);
        let parked: Vec<_> = parked.filter(|wait| thread(&flight, wait.thread) == "parker").collect();
        assert!(parked.len() > 20 && parked.iter().all(|w| w.class.as_deref() == Some("Burns$Gate")));

        let made = flight.allocations.iter().filter(|a| &*a.class == "byte[]");
        let made: u64 = made.map(|allocation| allocation.weight_bytes).sum();
        assert!(made > 16 << 20, "{made}");
        assert!(!flight.collections.is_empty() && flight.collections.iter().all(|c| c.paused_ns > 0));
        assert!(flight.loads.iter().any(|load| load.user > 0.1), "{:?}", flight.loads);
    }
}

/// Without that option a compiler keeps no lines for a loop in which nobody stops, and JDK 25 takes the caller's then: at least
/// that is in the right line.
#[test]
fn lines_of_calls_are_right_without_any_option() {
    let line = |text| {
        1 + include_str!("../fixtures/Burns.java").lines().position(|l| l.contains(text)).expect("there")
    };
    let [seven, three] = ["seventy(7", "thirty(3"].map(|call| line(call).to_string());
    for java in installed() {
        // What is compiled into its caller has not even that.
        let apart = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Burns.*"];
        let program = burning(&java, &apart);
        let flight = read(&recorded(program.pid(), Duration::from_secs(6)));
        let lines = counted(&flight, "burner-", |frames| {
            let caller = frames.iter().find(|frame| method(&flight, frame) == "Burns.burn");
            caller.map_or(0, |frame| frame.line).to_string()
        });
        assert_seven_in_ten(&java, &lines, [&seven, &three]);
    }
}

/// Innermost frames of the samples of one kind as `jfr print` has them, and how many there are of each.
fn second_opinion(printed: &Value, event: &str) -> BTreeMap<String, usize> {
    let events = printed["recording"]["events"].as_array().expect("it has a list");
    let mut counts = BTreeMap::new();
    for event in events.iter().filter(|of| of["type"] == event) {
        let frame = &event["values"]["stackTrace"]["frames"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let method = (text(&frame["method"]["type"]["name"]), text(&frame["method"]["name"]));
        let line = frame["lineNumber"].as_i64().unwrap_or(0).max(0);
        *counts.entry(format!("{}.{}:{line}", method.0.replace('/', "."), method.1)).or_default() += 1;
    }
    counts
}

#[test]
fn the_jdk_s_own_reader_says_the_same() {
    for java in installed() {
        let jfr = java.with_file_name("jfr");
        if !jfr.exists() {
            eprintln!("SKIPPED: {java:?} has no jfr beside it");
            continue;
        }
        let program = burning(&java, &[]);
        let bytes = recorded(program.pid(), Duration::from_secs(3));
        drop(program);
        let flight = read(&bytes);
        let folder = tempfile::tempdir().expect("the temporary folder can be written");
        let file = folder.path().join("recorded.jfr");
        std::fs::write(&file, &bytes).expect("it is new");
        let printed = Command::new(&jfr).args(["print", "--json", "--stack-depth", "64"]).arg(&file).output();
        let printed = printed.expect("it can be run").stdout;
        let printed: Value = serde_json::from_slice(&printed).expect("it prints JSON");
        let frame = |stack: Option<u32>| {
            let frame = &flight.stacks[stack.expect("each has one") as usize].frames[0];
            format!("{}:{}", method(&flight, frame), frame.line)
        };
        for (event, native) in [("jdk.ExecutionSample", false), ("jdk.NativeMethodSample", true)] {
            let mut ours = BTreeMap::new();
            for sample in flight.samples.iter().filter(|sample| sample.native == native) {
                *ours.entry(frame(sample.stack)).or_default() += 1;
            }
            assert_eq!(ours, second_opinion(&printed, event), "{event}");
        }
        let count = |event| second_opinion(&printed, event).values().sum::<usize>();
        let waits = |of| flight.waits.iter().filter(|wait| wait.waiting == of).count();
        for (event, ours) in [
            ("jdk.JavaMonitorEnter", waits(Waiting::Enter)),
            ("jdk.JavaMonitorWait", waits(Waiting::Notify)),
            ("jdk.ThreadPark", waits(Waiting::Park)),
            ("jdk.ObjectAllocationSample", flight.allocations.len()),
            ("jdk.GarbageCollection", flight.collections.len()),
            ("jdk.Compilation", flight.compiled.len()),
            ("jdk.CPULoad", flight.loads.len()),
        ] {
            assert_eq!(ours, count(event), "{event}");
        }
    }
}

#[test]
fn a_recording_that_nobody_finishes_is_stopped() {
    for java in installed() {
        let program = burning(&java, &[]);
        let pid = program.pid();
        drop(JvmRecording::start(pid, LONGEST).unwrap_or_else(|why| panic!("{why}")));
        let twice = [(); 2].map(|()| JvmRecording::start(pid, LONGEST).unwrap_or_else(|why| panic!("{why}")));
        sleep(Duration::from_secs(1));
        for recording in twice {
            assert!(!read(&recording.finish().expect("it is under way")).samples.is_empty());
        }
        assert_eq!(program.end(), "", "a recording is no reason to print anything");
    }
}

/// As after SIGKILL: nobody is there to stop it.
#[test]
fn left_alone_it_ends_by_itself_and_keeps_no_file() {
    for java in installed() {
        let program = burning(&java, &[]);
        let recording = JvmRecording::lasting(program.pid(), Duration::from_secs(2));
        std::mem::forget(recording.expect("it can be asked"));
        let folder = repositories(program.pid());
        assert_eq!(folder.len(), 1);
        let files = || std::fs::read_dir(Path::new("/tmp").join(&folder[0])).expect("it is there").count();
        let until = Instant::now() + super::PATIENCE;
        while files() > 0 {
            assert!(Instant::now() < until, "{java:?} keeps {} files", files());
            sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn a_recording_of_somebody_else_goes_on() {
    for java in installed() {
        let program = burning(&java, &["-XX:StartFlightRecording:name=theirs", "-Xlog:jfr+startup=error"]);
        let flight = read(&recorded(program.pid(), Duration::from_secs(2)));
        assert!(!flight.samples.is_empty());
        let longest = flight.samples.iter().map(|sample| sample.at_ns).max().unwrap_or(0) - flight.from_ns;
        assert!(longest < 20_000_000_000, "theirs began before, and is not ours");
        assert_eq!(repositories(program.pid()).len(), 1, "theirs is still under way");
    }
}

#[test]
fn where_there_can_be_none_that_is_said() {
    for java in installed() {
        for option in ["-XX:+DisableAttachMechanism", "-XX:-FlightRecorder"] {
            let program = burning(&java, &["-XX:-PrintWarnings", option]);
            let refused = JvmRecording::start(program.pid(), LONGEST).err().expect("it cannot");
            assert!(refused.contains(option), "{refused}");
        }
    }
    let own = JvmRecording::start(std::process::id(), LONGEST).err().expect("a test is no JVM");
    assert!(own.contains("not a HotSpot machine"), "{own}");
}

#[test]
fn what_a_machine_has_compiled_lies_in_memory_without_a_file() {
    for java in installed() {
        let program = burning(&java, &[]);
        let until = Instant::now() + super::PATIENCE;
        let list = loop {
            let list = compiled_code(program.pid()).unwrap_or_else(|why| panic!("{why}"));
            if list.iter().any(|code| code.method == "Burns.seventy" && code.level == 4) {
                break list;
            }
            assert!(Instant::now() < until, "{java:?} never compiled it: {list:?}");
            sleep(Duration::from_millis(200));
        };
        assert!(list.len() > 100 && list.is_sorted_by_key(|code| code.from));
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", program.pid())).expect("it is ours");
        let code = maps.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (from, to) = words[0].split_once('-')?;
            let address = |text| u64::from_str_radix(text, 16).ok();
            (words[1].contains('x') && words.len() == 5).then_some((address(from)?, address(to)?))
        });
        let code: Vec<(u64, u64)> = code.collect();
        for method in &list {
            let lies = |(from, to): &(u64, u64)| *from <= method.from && method.to <= *to;
            assert!(code.iter().any(lies), "{method:x?} in none of {code:x?}");
        }
        let left = format!("/tmp/perf-{}.map", program.pid());
        assert!(!Path::new(&left).exists());
    }
}
