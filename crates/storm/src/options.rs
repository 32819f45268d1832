use record::Failure;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use units::Nanos;

/// Exit statuses that count as success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedStatuses(Vec<(u8, u8)>);

impl Default for ExpectedStatuses {
    fn default() -> Self {
        Self(vec![(0, 0)])
    }
}

impl ExpectedStatuses {
    /// Parses a list such as `0,2-4`; `None` if invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| text.trim().parse::<u8>().ok();
        let ranges = text.split(',').map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            one(from).zip(one(to)).filter(|(from, to)| from <= to)
        });
        ranges.collect::<Option<Vec<_>>>().map(Self)
    }

    /// Whether a process that ended like this succeeded, or why not.
    pub(crate) fn check(&self, status: ExitStatus) -> Result<(), Failure> {
        let is_expected =
            |code| self.0.iter().any(|(from, to)| (i32::from(*from)..=i32::from(*to)).contains(&code));
        match (status.code(), status.signal()) {
            (Some(code), _) if is_expected(code) => Ok(()),
            (Some(code), _) => Err(Failure::Check(format!("exit status {code}"))),
            (None, signal) => {
                // Whether it left a core behind depends on the machine.
                let ended = ExitStatus::from_raw(signal.unwrap_or_default()).to_string();
                Err(Failure::Check(format!("ended by {}", ended.replacen("signal:", "signal", 1))))
            }
        }
    }
}

/// Settings of a storm.
#[derive(Debug, Clone)]
pub struct StormOptions {
    /// The most processes alive at once.
    pub parallel: u32,
    /// From due time on; whatever has not ended by then is killed.
    pub timeout: Nanos,
    /// Exit statuses that count as success.
    pub expected: ExpectedStatuses,
    /// A longer response time is late.
    pub deadline: Option<Nanos>,
    /// File to which the programs' output is appended; discarded if `None`.
    pub output: Option<PathBuf>,
    /// File of the job log, a line per process.
    pub log: Option<PathBuf>,
    /// The most arrivals that may wait.
    pub outstanding: u64,
}

impl Default for StormOptions {
    fn default() -> Self {
        Self {
            parallel: 100,
            timeout: Nanos::from_secs(10),
            expected: ExpectedStatuses::default(),
            deadline: None,
            output: None,
            log: None,
            outstanding: 1_000_000,
        }
    }
}
