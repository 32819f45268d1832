use crate::parse_number;

/// `/proc/PID/task/TID/schedstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SchedStat {
    /// Time on a processor.
    pub on_cpu_ns: u64,
    /// Time ready, waiting for a processor.
    pub delay_ns: u64,
    /// How often it was scheduled.
    pub count: u64,
}

/// Parses it, without allocating.
pub fn parse_schedstat(text: &[u8]) -> Option<SchedStat> {
    let mut words = text.trim_ascii().split(|byte| *byte == b' ');
    let mut next = || parse_number(words.next()?);
    Some(SchedStat { on_cpu_ns: next()?, delay_ns: next()?, count: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_kernel_writes() {
        let expected = SchedStat { on_cpu_ns: 12_345, delay_ns: 678, count: 9 };
        assert_eq!(parse_schedstat(b"12345 678 9\n"), Some(expected));
        for broken in ["", "12", "a b c", "12 x", "12 34 "] {
            assert_eq!(parse_schedstat(broken.as_bytes()), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(a in any::<u64>(), b in any::<u64>(), c in any::<u64>()) {
            let expected = SchedStat { on_cpu_ns: a, delay_ns: b, count: c };
            prop_assert_eq!(parse_schedstat(format!("{a} {b} {c}\n").as_bytes()), Some(expected));
        }
    }
}
