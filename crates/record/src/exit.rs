//! Exit codes of the commands that measure.

/// Goal met, or search regular.
pub const MET: u8 = 0;
/// Any other error.
pub const ERROR: u8 = 1;
/// Usage or plan.
pub const USAGE: u8 = 2;
/// Worse than the baseline, by more than the noise.
pub const WORSE: u8 = 90;
/// No verdict in the given time, or none that holds.
pub const UNDECIDED: u8 = 91;
/// Measured but not trustworthy: the generator or the environment was the limit.
pub const NOT_TRUSTWORTHY: u8 = 92;
/// The target did not recover.
pub const NOT_RECOVERED: u8 = 93;
/// Goal not met.
pub const NOT_MET: u8 = 99;
/// Interrupted; what was measured is kept.
pub const INTERRUPTED: u8 = 130;
