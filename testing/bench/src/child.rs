//! Runs one child process on one processor to its end, and measures its cost.

use serde::Serialize;
use std::fs::{self, File};
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// How often the child's end is polled for; small against the load, rare enough to cost nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// More than any result holds; a program that prints without end must not fill our memory.
const OUTPUT_LIMIT: u64 = 32 << 20;

/// Resource usage of a process, from wait4(2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct ProcessUsage {
    /// User processor time, all threads.
    pub user_seconds: f64,
    /// Kernel processor time on its behalf.
    pub kernel_seconds: f64,
    /// Peak resident set. `None` for a process smaller than its parent: the value is then the parent's (the kernel
    /// carries it over execve).
    pub peak_bytes: Option<u64>,
}

/// Result of a child.
#[derive(Debug, Clone, Default)]
pub struct ProcessResult {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// What it cost.
    pub usage: ProcessUsage,
    /// Whether it was killed for exceeding its time.
    pub timed_out: bool,
}

/// Runs `act` in a thread bound to this processor: a child started there stays there.
///
/// Fails if this process may not run on it.
pub fn on_processor<T: Send>(processor: u32, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    let thread = || sys::bind_to(&[processor]).map(|()| act());
    thread::scope(|scope| scope.spawn(thread).join()).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Where children run, and where they may leave files.
#[derive(Debug, Clone)]
pub struct ProcessRunner {
    /// The processor of the generators.
    pub generator_cpu: u32,
    /// A folder for what the programs read and write.
    pub scratch: PathBuf,
    /// Set to end everything soon.
    pub stop: Arc<AtomicBool>,
}

impl ProcessRunner {
    /// Runs until `stop` is set.
    pub fn new(generator_cpu: u32, scratch: &Path) -> Self {
        Self { generator_cpu, scratch: scratch.to_owned(), stop: Arc::default() }
    }

    /// Whether everything is to end soon.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs a program to its end, on the generator's processor.
    ///
    /// Fails if it cannot be started or its output cannot be stored.
    pub fn run(
        &self,
        program: &Path,
        arguments: &[String],
        time_limit: Duration,
    ) -> io::Result<ProcessResult> {
        let (out, err) = (self.scratch.join("stdout"), self.scratch.join("stderr"));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.scratch).stdin(Stdio::null());
        command.stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = on_processor(self.generator_cpu, || command.spawn())??;
        let until = Instant::now() + time_limit;
        let mut timed_out = false;
        let waited = loop {
            if let Some(used) = child.try_wait4()? {
                break used;
            }
            if !timed_out && (Instant::now() > until || self.stopped()) {
                timed_out = true;
                child.kill()?;
            }
            sleep(POLL_INTERVAL);
        };
        let (user, kernel) = (waited.rusage.utime.as_secs_f64(), waited.rusage.stime.as_secs_f64());
        let peak = Some(waited.rusage.maxrss).filter(|peak| *peak > own_peak_bytes());
        Ok(ProcessResult {
            code: waited.status.code(),
            stdout: read_output(&out)?,
            stderr: read_output(&err)?,
            usage: ProcessUsage { user_seconds: user, kernel_seconds: kernel, peak_bytes: peak },
            timed_out,
        })
    }
}

/// Reads a program's output file; invalid UTF-8 is replaced.
///
/// Fails if it cannot be read or is larger than any result is.
pub fn read_output(path: &Path) -> io::Result<String> {
    let length = fs::metadata(path)?.len();
    if length > OUTPUT_LIMIT {
        let words = format!("{} has {length} bytes, and a result at most {OUTPUT_LIMIT}", path.display());
        return Err(io::Error::other(words));
    }
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// `VmHWM` of proc(5): the peak resident set of this process so far.
fn own_peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    procfs::kib_field(&status, "VmHWM").unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(scratch: &Path) -> ProcessRunner {
        ProcessRunner::new(crate::machine::processors()[0], scratch)
    }

    fn sh(script: &str, time_limit: Duration) -> ProcessResult {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments = ["-c".to_owned(), script.to_owned()];
        runner(folder.path()).run(Path::new("/bin/sh"), &arguments, time_limit).expect("there is a shell")
    }

    #[test]
    fn output_code_and_cost_are_the_childs() {
        let ended = sh(
            "echo out; echo err >&2; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7",
            Duration::from_secs(60),
        );
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!((ended.code, ended.timed_out), (Some(7), false));
        assert!(ended.usage.user_seconds > 0.01, "{:?}", ended.usage);
    }

    #[test]
    fn it_runs_on_the_generators_processor_alone() {
        let before = crate::machine::processors();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bench = runner(folder.path());
        let status = ["-c".to_owned(), "cat /proc/self/status".to_owned()];
        let ended = bench.run(Path::new("/bin/sh"), &status, Duration::from_secs(60)).expect("a shell");
        let allowed = ended.stdout.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert_eq!(allowed.map(str::trim), Some(bench.generator_cpu.to_string().as_str()));
        assert_eq!(crate::machine::processors(), before, "we have ours back");
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let ended = sh("exec sleep 60", Duration::from_millis(50));
        assert_eq!((ended.code, ended.timed_out), (None, true));
    }

    #[test]
    fn a_stop_ends_what_runs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let bench = runner(folder.path());
        bench.stop.store(true, Ordering::Relaxed);
        let arguments = ["60".to_owned()];
        let ended =
            bench.run(Path::new("/bin/sleep"), &arguments, Duration::from_secs(60)).expect("it is there");
        assert_eq!((ended.code, ended.timed_out), (None, true));
    }
}
