//! Numbers in files of the kernel's.

use std::fs::read_to_string;
use std::path::Path;

/// A file that is one number; `max` and what else is none is none.
pub fn number(path: &Path) -> Option<u64> {
    read_to_string(path).ok()?.trim().parse().ok()
}

/// The number after a name at the beginning of a line: `MemFree:  12 kB`, `max 3`. Its unit is the caller's to know.
pub fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix([' ', '\t', ':']))?;
    rest.trim_start_matches(':').split_ascii_whitespace().next()?.parse().ok()
}

/// A field in KiB, in bytes.
pub fn kib(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text =
            "MemTotal:       24684084 kB\nMemFree:        23085348 kB\nmax 3\noom_kill\t5\nmax_usage 9\n";
        assert_eq!(kib(text, "MemFree"), Some(23_085_348 << 10));
        assert_eq!(field(text, "max"), Some(3));
        assert_eq!(field(text, "oom_kill"), Some(5));
        assert_eq!(field(text, "Mem"), None);
        assert_eq!(field("max\n", "max"), None);
        assert_eq!(kib("VmSize: 18446744073709551615 kB", "VmSize"), None);
    }
}
