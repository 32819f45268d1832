//! Parses a thread's current system call without allocating. Anything unexpected gives none.

use procfs::parse_number;

/// `/proc/PID/task/TID/syscall`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syscall {
    /// On a processor.
    Running,
    /// In the kernel for another reason: a page fault.
    Outside,
    /// In a system call, with its first four arguments.
    In(i64, [u64; 4]),
}

pub(crate) fn parse_syscall(text: &[u8]) -> Option<Syscall> {
    let text = text.trim_ascii();
    if text == b"running" {
        return Some(Syscall::Running);
    }
    let mut words = text.split(|byte| *byte == b' ');
    let first = words.next()?;
    if first == b"-1" {
        return Some(Syscall::Outside);
    }
    let call = i64::try_from(parse_number(first)?).ok()?;
    let mut arguments = [0; 4];
    for argument in &mut arguments {
        *argument = hexadecimal(words.next()?)?;
    }
    Some(Syscall::In(call, arguments))
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x")?;
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, byte| {
        let digit = (*byte as char).to_digit(16)?;
        Some(value << 4 | u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_the_kernel_writes() {
        assert_eq!(parse_syscall(b"running\n"), Some(Syscall::Running));
        assert_eq!(parse_syscall(b"-1 0x7ffe 0x7f\n"), Some(Syscall::Outside));
        let poll = b"7 0x7f10 0x1 0xffffffffffffffff 0x0 0x1 0x2 0x7ffe 0x7f\n";
        assert_eq!(parse_syscall(poll), Some(Syscall::In(7, [0x7f10, 1, u64::MAX, 0])));
    }

    proptest! {
        #[test]
        fn hostile_text_never_panics(text in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = parse_syscall(&text);
        }

        #[test]
        fn nearly_right_text_never_panics(text in "[0-9x() RSDa-f/.-]{0,80}") {
            let _ = parse_syscall(text.as_bytes());
        }

        #[test]
        fn numbers_come_back(a in any::<u64>(), b in any::<u64>(), c in any::<u64>(), call in 0..i64::MAX) {
            let text = format!("{call} 0x{a:x} 0x{b:x} 0x{c:x} 0x0 0x0 0x0 0x0 0x0\n");
            prop_assert_eq!(parse_syscall(text.as_bytes()), Some(Syscall::In(call, [a, b, c, 0])));
        }
    }
}
