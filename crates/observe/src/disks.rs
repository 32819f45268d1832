//! Activity of whole disks (/proc/diskstats).

use record::watch::DiskActivity;
use std::collections::HashMap;

/// Bytes per sector in diskstats, whatever the disk's own.
const SECTOR: u64 = 512;

/// Counters since boot of all whole disks, as `is_whole` tells.
pub(crate) fn parse(diskstats: &str, is_whole: impl Fn(&str) -> bool) -> HashMap<String, DiskActivity> {
    let disk = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let name = words.next()?;
        // RAM disks wait for nothing.
        if name.starts_with("ram") || name.starts_with("zram") || !is_whole(name) {
            return None;
        }
        let n: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // Since Linux 5.5.
        let flush = |at: usize| n.get(at).copied().unwrap_or(0);
        let disk = DiskActivity {
            name: name.to_owned(),
            reads: *n.first()?,
            read_bytes: n.get(2)?.checked_mul(SECTOR)?,
            read_ms: *n.get(3)?,
            writes: *n.get(4)?,
            written_bytes: n.get(6)?.checked_mul(SECTOR)?,
            write_ms: *n.get(7)?,
            flushes: flush(15),
            flush_ms: flush(16),
            busy_ms: *n.get(9)?,
        };
        Some((disk.name.clone(), disk))
    };
    diskstats.lines().filter_map(disk).collect()
}

/// Differences by name, of active disks.
pub(crate) fn growth(
    now: &HashMap<String, DiskActivity>,
    before: &HashMap<String, DiskActivity>,
) -> Vec<DiskActivity> {
    let since = |now: &DiskActivity| {
        let old = before.get(&now.name)?;
        let mut now = now.clone();
        less!(now, old: reads read_bytes read_ms writes written_bytes write_ms flushes flush_ms busy_ms);
        Some(now)
    };
    let did = |disk: &DiskActivity| disk.reads + disk.writes + disk.flushes + disk.busy_ms > 0;
    let mut disks: Vec<DiskActivity> = now.values().filter_map(since).filter(did).collect();
    disks.sort_by(|a, b| a.name.cmp(&b.name));
    disks
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
 254       0 vda 100 5 2000 30 50 1 800 40 0 60 70 0 0 0 0 6 12
 254       1 vda1 90 5 1900 30 50 1 800 40 0 60 70 0 0 0 0 0 0
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 253       0 zram0 9 0 9 9 9 9 9 9 9 9 9
   8       0 sda 1 2 3
";
    const AFTER: &str = "\
 254       0 vda 110 5 2080 50 53 1 816 49 0 75 90 0 0 0 0 8 22
 254       1 vda1 99 5 1990 30 50 1 800 40 0 60 70 0 0 0 0 0 0
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
   8      16 sdb 1 0 8 1 0 0 0 0 0 1 1
";

    #[test]
    fn whole_disks_that_did_something() {
        let is_whole = |name: &str| name != "vda1";
        let disks = growth(&parse(AFTER, is_whole), &parse(BEFORE, is_whole));
        let vda = DiskActivity {
            name: "vda".into(),
            reads: 10,
            read_bytes: 80 * 512,
            read_ms: 20,
            writes: 3,
            written_bytes: 16 * 512,
            write_ms: 9,
            flushes: 2,
            flush_ms: 10,
            busy_ms: 15,
        };
        assert_eq!(disks, [vda], "a disk that has just come has no growth");
    }

    #[test]
    fn nonsense_is_no_disk() {
        assert!(parse("x\n\n1 2\n8 0 sda a b\n", |_| true).is_empty());
        assert!(parse(&format!("8 0 sda 1 1 {} 1 1 1 1 1 1 1 1\n", u64::MAX), |_| true).is_empty());
    }
}
