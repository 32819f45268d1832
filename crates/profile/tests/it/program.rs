//! Profiled test programs, and assertions on their profiles.

use procfs::{TaskStat, pids_in, tick_ns};
use record::{Profile, StackCount};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use torment_profile::{Error, start};

/// Samples per second of processor time: twice as many add little, as two then see the same piece of work.
pub const HZ: u32 = 397;
/// Programs profiled together get their processor time within this: they have the lowest priority, so perhaps only once the loads beside
/// them have ended.
const LONGEST: Duration = Duration::from_secs(600);
/// Threads that say that they wait may spin first, at the lowest priority for long.
const LONGEST_SPIN: Duration = Duration::from_secs(60);

/// Killed when dropped.
pub struct Program(pub Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Waits until it says that it is ready; none if it ends before.
    pub fn ready(command: Command) -> Option<Self> {
        Self::begun(command).once_ready()
    }

    pub fn begun(mut command: Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).stdin(Stdio::null()).spawn();
        Self(child.expect("it can be run"))
    }

    /// Waits until it says that it is ready; none if it ends before.
    pub fn once_ready(mut self) -> Option<Self> {
        let mut line = String::new();
        let out = self.0.stdout.as_mut().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it prints text");
        (line == "ready\n").then_some(self)
    }

    /// Waits until none of its threads has run for a while.
    pub fn once_asleep(&self) {
        let began = Instant::now();
        let mut before = None;
        while began.elapsed() < LONGEST_SPIN {
            let now = self.processor_time();
            if before == Some(now) && self.is_asleep() {
                return;
            }
            before = Some(now);
            sleep(Duration::from_millis(100));
        }
    }

    fn is_asleep(&self) -> bool {
        let tasks = format!("/proc/{}/task", self.0.id());
        pids_in(Path::new(&tasks)).filter_map(TaskStat::read).all(|task| task.state == b'S')
    }

    fn processor_time(&self) -> Duration {
        let ticks = TaskStat::read(self.0.id()).expect("it runs").cpu;
        Duration::from_nanos(ticks * tick_ns())
    }
}

/// Lowers its priority: it computes endlessly, and loads beside it are timed.
pub fn patient(program: &Path) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program);
    command
}

/// None where the kernel permits no profile.
pub fn profiled(program: &Program, lasting: Duration) -> Option<Profile> {
    sampled(&[program.0.id()], || sleep(lasting))
}

/// Profiles all together until each has used this much processor time; none for no programs, and where the
/// kernel permits no profile.
pub fn profiled_together<'a>(programs: impl Iterator<Item = &'a Program>, each: Duration) -> Option<Profile> {
    let programs: Vec<&Program> = programs.collect();
    if programs.is_empty() {
        return None;
    }
    let pids: Vec<u32> = programs.iter().map(|program| program.0.id()).collect();
    let have = |program: &&Program| program.processor_time();
    let wanted: Vec<Duration> = programs.iter().map(|program| have(program) + each).collect();
    sampled(&pids, || {
        let began = Instant::now();
        let lack = || programs.iter().zip(&wanted).any(|(program, wanted)| have(program) < *wanted);
        while lack() && began.elapsed() < LONGEST {
            sleep(Duration::from_millis(100));
        }
    })
}

fn sampled(pids: &[u32], meanwhile: impl FnOnce()) -> Option<Profile> {
    match start(pids, HZ) {
        Ok(sampling) => {
            meanwhile();
            Some(sampling.end().expect("it samples").symbolize())
        }
        Err(why @ (Error::Refused { .. } | Error::Lacking { .. })) => {
            eprintln!("SKIPPED: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Function names of a stack, innermost first.
fn names(profile: &Profile, stack: StackCount) -> Vec<&str> {
    profile.frames(stack).map(|of| profile.functions[of as usize].name.as_str()).collect()
}

/// Samples of threads of this name whose stack matches.
pub fn samples(profile: &Profile, threads: &str, is: impl Fn(&[&str]) -> bool) -> f64 {
    let its = profile.stacks.iter().filter(|stack| profile.threads[stack.0 as usize].starts_with(threads));
    its.filter(|stack| is(&names(profile, **stack))).map(|stack| stack.2 as f64).sum()
}

/// Allows three percentage points at a thousand samples; four standard errors for fewer.
pub fn assert_share(what: &str, share: f64, expected: f64, profile: &Profile, all: f64) {
    let doubt = (4.0 * (expected * (1.0 - expected) / all).sqrt()).max(0.03);
    eprintln!("{what}: {share:.3} of {all}, expected {expected}");
    assert!((share - expected).abs() <= doubt, "{what}\n{}", stacks::format_folded(profile));
}
