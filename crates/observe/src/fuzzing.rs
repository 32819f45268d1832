//! Entry points for the fuzzers in `fuzz/`: arbitrary bytes to the parsers of what targets supply.

use crate::jvm::{dump, perfdata, virtual_threads};
use crate::metrics::prometheus;
use crate::sweep::syscall;
use crate::{cgroup, disks, network, sock_diag, titles, unix_sockets};
use procfs::cgroups;
use std::path::Path;

/// A Java VM's counter file: a truncated one holds no counters that the whole does not.
pub fn perfdata(bytes: &[u8]) {
    let Ok(counters) = perfdata::parse(bytes) else { return };
    for (name, _) in counters.numbers() {
        let _ = counters.time_ns(name);
    }
    // Each byte belongs to at most one name and one value; an invalid UTF-8 byte becomes three.
    assert!(counters.size() <= 6 * bytes.len(), "{} of {} bytes", counters.size(), bytes.len());
    for part in [1, 2, 3] {
        let Ok(cut) = perfdata::parse(&bytes[..bytes.len() * part / 4]) else { continue };
        assert!(cut.numbers().all(|(name, _)| counters.has(name)));
    }
}

/// A Java VM's thread dump and virtual thread answers.
pub fn dump(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    let places = || dump::parse(text).stacks.list();
    assert_eq!(places(), places());
    let _ = virtual_threads::parse_scheduler(1, text, text);
}

/// A metrics endpoint's body: the series kept, written out again, are kept again.
pub fn metrics(bytes: &[u8]) {
    let Ok(kept) = prometheus::parse_series(bytes) else { return };
    assert!(kept.len() <= prometheus::MOST);
    assert!(kept.iter().all(|series| series.value.is_finite()), "{kept:?}");
    let again: String = kept.iter().map(|series| format!("{} {}\n", series.name, series.value)).collect();
    if !kept.is_empty() {
        assert_eq!(prometheus::parse_series(again.as_bytes()).as_ref(), Ok(&kept), "{again}");
    }
}

/// The kernel's files and socket lists: the same bytes to every parser.
pub fn kernel(bytes: &[u8]) {
    let _ = (
        procfs::parse_stat(bytes),
        procfs::parse_socket_inode(bytes),
        titles::parse_title(bytes),
        unix_sockets::parse(bytes),
    );
    let _ = (procfs::parse_schedstat(bytes), procfs::parse_loadavg(bytes), syscall::parse_syscall(bytes));
    let _ = sock_diag::parse_messages(bytes, &mut |_| {});
    let text = &String::from_utf8_lossy(bytes);
    let _ = (cgroup::limits::parse_pressure(text, text, text), cgroups::parse_mounts(text, Path::new("/")));
    let _ = (
        disks::parse(text, |_| true),
        procfs::parse_host_stat(text),
        procfs::kib_field(text, "MemAvailable"),
    );
    let _ = (procfs::parse_named(text, "Tcp", "OutSegs"), network::parse_softnet_drops(text));
    let _ = (network::parse_interfaces(text), network::parse_conntrack(text));
    let _ = (network::parse_time_wait(text), procfs::parse_limit(text, "Max open files"));
    for line in text.lines() {
        let _ = (cgroups::parse_entry(line), procfs::parse_tcp_line(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_said_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            for read in [perfdata, dump, metrics, kernel] {
                read(&bytes);
            }
        }
    }
}
