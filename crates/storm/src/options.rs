use std::path::PathBuf;
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
        let ranges = text.split(',').map(|part| match part.split_once('-') {
            Some((from, to)) => one(from).zip(one(to)).filter(|(from, to)| from <= to),
            None => one(part).map(|status| (status, status)),
        });
        ranges.collect::<Option<Vec<_>>>().map(Self)
    }

    pub(crate) fn contains(&self, code: i32) -> bool {
        self.0.iter().any(|(from, to)| (i32::from(*from)..=i32::from(*to)).contains(&code))
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
