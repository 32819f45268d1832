//! Numbers, and lines that begin with a name.

use std::fs::read_to_string;
use std::path::Path;

/// Parses a text that is all one decimal number.
pub fn parse_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(digit.into()) }
    })
}

/// Reads a file that is one number; `None` for `max` or anything else.
pub fn read_number(path: impl AsRef<Path>) -> Option<u64> {
    parse_number(read_to_string(path).ok()?.trim().as_bytes())
}

/// What follows a name at the start of a line: `MemFree:  12 kB`, `max 3`, `model name\t: EPYC`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    const BETWEEN: [char; 3] = [' ', '\t', ':'];
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(BETWEEN))?;
    Some(rest.trim_start_matches(BETWEEN).trim_end())
}

/// The number after a name, in whatever unit the file uses.
pub fn number_field(text: &str, name: &str) -> Option<u64> {
    parse_number(field(text, name)?.split_ascii_whitespace().next()?.as_bytes())
}

/// A field in KiB, converted to bytes.
pub fn kib_field(text: &str, name: &str) -> Option<u64> {
    number_field(text, name)?.checked_mul(1 << 10)
}

/// A counter from a file with pairs of lines, names and then numbers, that begin with the table's name
/// (`/proc/net/netstat`, `/proc/net/snmp`).
pub fn parse_named(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(':').next() == Some(table));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|word| word == name)?;
    // Some are signed: -1 means no limit.
    numbers.split(' ').nth(at)?.parse().ok()
}

/// Soft and hard limit of a resource (getrlimit(2)); `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceLimit {
    /// The limit in force.
    pub soft: Option<u64>,
    /// Up to where the process may raise it.
    pub hard: Option<u64>,
}

/// The limits of this name in a `/proc/PID/limits`: `Max processes   96365   unlimited   processes`. `None` if
/// the format is unknown.
pub fn parse_limit(limits: &str, name: &str) -> Option<ResourceLimit> {
    let mut words = field(limits, name)?.split_ascii_whitespace();
    let mut next = || match words.next()? {
        "unlimited" => Some(None),
        limit => Some(Some(parse_number(limit.as_bytes())?)),
    };
    Some(ResourceLimit { soft: next()?, hard: next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole() {
        assert_eq!(parse_number(b"18446744073709551615"), Some(u64::MAX));
        for none in ["", "99999999999999999999", "12a", "-1", "+1"] {
            assert_eq!(parse_number(none.as_bytes()), None, "{none}");
        }
        assert_eq!(read_number("/proc/self/cmdline"), None);
        assert!(read_number("/proc/sys/kernel/pid_max").is_some_and(|most| most > 300));
    }

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "MemTotal:       24684084 kB\nMemFree:        23085348 kB\nmax 3\noom_kill\t5\nmax_usage 9\n\
                    model name\t: AMD EPYC\nflags\t\t: fpu vme\n";
        assert_eq!(kib_field(text, "MemFree"), Some(23_085_348 << 10));
        assert_eq!(number_field(text, "max"), Some(3));
        assert_eq!(number_field(text, "oom_kill"), Some(5));
        assert_eq!(number_field(text, "Mem"), None);
        assert_eq!(field(text, "model name"), Some("AMD EPYC"));
        assert_eq!(field(text, "flags"), Some("fpu vme"));
        assert_eq!(number_field("max\n", "max"), None);
        assert_eq!(kib_field("VmSize: 18446744073709551615 kB", "VmSize"), None);
    }

    #[test]
    fn counters_of_tables() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 55 3\n";
        assert_eq!(parse_named(snmp, "Tcp", "OutSegs"), Some(55));
        assert_eq!(parse_named(snmp, "Tcp", "MaxConn"), None);
        assert_eq!(parse_named(snmp, "Udp", "OutSegs"), None);
        assert_eq!(parse_named("Tcp: OutSegs\n", "Tcp", "OutSegs"), None);
    }

    #[test]
    fn limits() {
        let text = "\
Limit                     Soft Limit           Hard Limit           Units
Max processes             96365                96365                processes
Max open files            1024                 20000                files
Max locked memory         unlimited            unlimited            bytes
Max nothing
";
        assert_eq!(
            parse_limit(text, "Max open files"),
            Some(ResourceLimit { soft: Some(1024), hard: Some(20_000) })
        );
        assert_eq!(parse_limit(text, "Max locked memory"), Some(ResourceLimit::default()));
        assert_eq!(parse_limit(text, "Max nothing"), None);
        assert_eq!(parse_limit(text, "Max anything"), None);
    }
}
