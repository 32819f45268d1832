use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// With fewer descriptors no load is worth making: the store, the terminal and the loops need some.
pub const DESCRIPTORS_LEAST: u64 = 80;

/// Raises the soft limit of open descriptors to the hard one (`RLIMIT_NOFILE`, getrlimit(2)), and returns both
/// as they are afterwards; no limit is `u64::MAX`. If the kernel refuses, the soft limit stays as it was.
pub fn raise_nofile() -> (u64, u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // A refusal shows when the limit is read back.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let now = getrlimit(Resource::Nofile);
    (now.current.unwrap_or(u64::MAX), now.maximum.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_becomes_hard() {
        let (soft, hard) = raise_nofile();
        assert_eq!(soft, hard);
    }
}
