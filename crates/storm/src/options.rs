use std::path::PathBuf;
use units::Nanos;

/// Exit statuses that are as they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedStatuses(Vec<(u8, u8)>);

impl Default for ExpectedStatuses {
    fn default() -> Self {
        Self(vec![(0, 0)])
    }
}

impl ExpectedStatuses {
    /// From a list such as `0,2-4`; none if it is no such list.
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

/// How it is done.
#[derive(Debug, Clone)]
pub struct StormOptions {
    /// The most processes alive at once.
    pub parallel: u32,
    /// Whatever has not ended so long after it was due is killed.
    pub timeout: Nanos,
    /// Exit statuses that are as they should be.
    pub expected: ExpectedStatuses,
    /// What has a longer response time is late.
    pub deadline: Option<Nanos>,
    /// Takes what the programs write, at its end; else that is thrown away.
    pub output: Option<PathBuf>,
    /// Takes a line for each process.
    pub log: Option<PathBuf>,
    /// The most arrivals that wait.
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
