//! Counters of the target's network namespace.

use crate::missing::MissingLog;
use crate::source::Source;
use crate::watch_scope::WatchScope;
use procfs::parse_named;
use record::watch::{InterfaceTraffic, LimitUsage, MissingMeasure, Network, Window};
use std::{fs, io};

/// Reads /proc/PID/net of the service's first process.
#[derive(Debug, Default)]
pub(crate) struct NetworkSource {
    /// PID, its counters, and those of its interfaces.
    before: Option<(u32, Network, Vec<Interface>)>,
    missing_log: MissingLog,
}

/// Packets dropped by processors: the second column of each line, in hexadecimal.
pub(crate) fn parse_softnet_drops(text: &str) -> Option<u64> {
    let drops = |line: &str| u64::from_str_radix(line.split(' ').nth(1)?, 16).ok();
    text.lines().try_fold(0_u64, |sum, line| sum.checked_add(drops(line)?))
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Interface {
    pub name: String,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Packets dropped, both directions.
    pub drops: u64,
}

/// All interfaces; none if their counters overflow when summed.
pub(crate) fn parse_interfaces(dev: &str) -> Option<Vec<Interface>> {
    let one = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<u64> =
            numbers.split_ascii_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
        Some(Interface {
            name: name.trim().to_owned(),
            received_bytes: *numbers.first()?,
            sent_bytes: *numbers.get(8)?,
            drops: numbers.get(3)?.checked_add(*numbers.get(11)?)?,
        })
    };
    dev.lines().skip(2).map(one).collect()
}

/// Sums one of the counters.
fn sum<'a>(interfaces: impl Iterator<Item = &'a Interface>, of: impl Fn(&Interface) -> u64) -> Option<u64> {
    interfaces.map(of).try_fold(0_u64, u64::checked_add)
}

/// Tracked connections, and packets dropped because the table was full (/proc/net/stat/nf_conntrack: a line
/// of names, then one of hexadecimal numbers per processor).
pub(crate) fn parse_conntrack(stat: &str) -> Option<(u64, u64)> {
    let mut lines = stat.lines();
    let names: Vec<&str> = lines.next()?.split_ascii_whitespace().collect();
    let at = |name: &str| names.iter().position(|n| *n == name);
    let (entries, drop) = (at("entries")?, at("drop")?);
    let (mut used, mut drops) = (None, 0_u64);
    for line in lines {
        let row = line.split_ascii_whitespace().map(|n| u64::from_str_radix(n, 16).ok());
        let row: Vec<u64> = row.collect::<Option<_>>()?;
        // Each processor's line has the same number of entries.
        used.get_or_insert(*row.get(entries)?);
        drops = drops.checked_add(*row.get(drop)?)?;
    }
    Some((used?, drops))
}

/// Sockets in TIME_WAIT, IPv4 and IPv6: `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 143`.
pub(crate) fn parse_time_wait(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split(' ').skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

/// Maximum tracked connections; 0 if unknown.
fn conntrack_limit() -> u64 {
    procfs::read_number("/proc/sys/net/netfilter/nf_conntrack_max").unwrap_or(0)
}

/// Speed in bits per second by the driver's account; none if it gives none, as most virtual interfaces.
fn speed(name: &str) -> Option<u64> {
    let megabits = procfs::read_number(format!("/sys/class/net/{name}/speed"))?;
    (1..1_000_000).contains(&megabits).then_some(megabits * 1_000_000)
}

/// The most utilised interface, of those with a known speed.
fn busiest_link(
    now: &[Interface],
    before: &[Interface],
    speed: impl Fn(&str) -> Option<u64>,
) -> Option<InterfaceTraffic> {
    let grown = |now: &Interface| {
        let before = before.iter().find(|before| before.name == now.name)?;
        Some(InterfaceTraffic {
            received_bytes: now.received_bytes.saturating_sub(before.received_bytes),
            sent_bytes: now.sent_bytes.saturating_sub(before.sent_bytes),
            bits_per_second: speed(&now.name)?,
        })
    };
    let share = |link: &InterfaceTraffic| {
        link.received_bytes.max(link.sent_bytes) as f64 / link.bits_per_second as f64
    };
    now.iter().filter_map(grown).max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn read(pid: u32) -> io::Result<(Network, Vec<Interface>)> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
    let (netstat, snmp, dev, sockstat) = (read("netstat")?, read("snmp")?, read("dev")?, read("sockstat")?);
    let softnet_stat = read("softnet_stat")?;
    // Readable by root only, and present only where connections are tracked.
    let tracked = read("stat/nf_conntrack").ok().and_then(|stat| parse_conntrack(&stat));
    let unknown = || io::Error::new(io::ErrorKind::InvalidData, "a file in it is in no known format");
    let interfaces = parse_interfaces(&dev).ok_or_else(unknown)?;
    let others = || interfaces.iter().filter(|interface| interface.name != "lo");
    let all = || {
        let extended = |name: &str| parse_named(&netstat, "TcpExt", name);
        Some(Network {
            listen_overflows: extended("ListenOverflows")?,
            listen_drops: extended("ListenDrops")?,
            segments_sent: parse_named(&snmp, "Tcp", "OutSegs")?,
            segments_retransmitted: parse_named(&snmp, "Tcp", "RetransSegs")?,
            backlog_drops: extended("TCPBacklogDrop")?,
            softnet_drops: parse_softnet_drops(&softnet_stat)?,
            received_bytes: sum(interfaces.iter(), |i| i.received_bytes)?,
            sent_bytes: sum(interfaces.iter(), |i| i.sent_bytes)?,
            time_wait: parse_time_wait(&sockstat)?,
            interface_drops: sum(others(), |i| i.drops)?,
            tracked: tracked
                .map(|(used, _)| LimitUsage { used, limit: conntrack_limit() })
                .filter(|u| u.limit > 0),
            tracking_drops: tracked.map_or(0, |(_, drops)| drops),
            // Which is the fullest shows only in the growth.
            link: None,
        })
    };
    let network = all().ok_or_else(unknown)?;
    Ok((network, interfaces))
}

fn growth(mut now: Network, before: Network) -> Network {
    less!(now, before: listen_overflows listen_drops segments_sent segments_retransmitted backlog_drops softnet_drops
        received_bytes sent_bytes interface_drops tracking_drops);
    now
}

impl Source for NetworkSource {
    fn cut(&mut self, scope: &WatchScope, window: &mut Window) {
        let Some(&pid) = scope.subjects.first().and_then(|subject| subject.pids.first()) else { return };
        match read(pid) {
            Ok((now, interfaces)) => {
                if let Some((of, before, them)) = &self.before
                    && *of == pid
                {
                    // Speeds are read in torment's namespace: those of another would be wrong.
                    let is_own_namespace =
                        procfs::namespace(pid, "net") == procfs::namespace(std::process::id(), "net");
                    let speed = |name: &str| speed(name).filter(|_| is_own_namespace);
                    let link = busiest_link(&interfaces, them, speed);
                    window.network = Some(Network { link, ..growth(now, *before) });
                }
                self.before = Some((pid, now, interfaces));
            }
            // It has just ended: the folder is gone, or (EINVAL) the namespace.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 3 | 22)) => self.before = None,
            Err(error) => {
                let why = format!("/proc/{pid}/net cannot be read: {error}");
                self.missing_log.note("counters of the network", why);
            }
        }
    }

    fn missing(&self) -> Vec<MissingMeasure> {
        self.missing_log.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch_scope::WatchedTree;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn formats() {
        assert_eq!(parse_softnet_drops("0a 0000000f 1\n0b 00000001 0\n"), Some(16));
        assert_eq!(parse_softnet_drops("x\n"), None);
        let dev = "Inter-| Receive\n face |bytes\n    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\neth0:7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n";
        let both = parse_interfaces(dev).expect("two interfaces");
        assert_eq!(
            (sum(both.iter(), |i| i.received_bytes), sum(both.iter(), |i| i.sent_bytes)),
            (Some(17), Some(19))
        );
        assert_eq!(
            parse_time_wait("sockets: used 15\nTCP: inuse 1 orphan 0 tw 27 alloc 1 mem 3\n"),
            Some(27)
        );
        assert_eq!(parse_time_wait("sockets: used 15\n"), None);
        // An overflow gives none.
        let much = format!("a:{0} 0 0 0 0 0 0 0 {0} 0 0 0\n", u64::MAX);
        let both = parse_interfaces(&format!("\n\n{much}{much}")).expect("each has its own");
        assert_eq!(sum(both.iter(), |i| i.sent_bytes), None);
        assert_eq!(parse_softnet_drops("0 ffffffffffffffff\n0 1\n"), None);
    }

    #[test]
    fn drops_tracking_and_speed() {
        let dev = "\n\n lo: 10 1 0 5 0 0 0 0 10 1 0 6 0 0 0 0\neth0:7 1 0 2 0 0 0 0 9 1 0 3 0 0 0 0\n";
        let drops: Vec<u64> = parse_interfaces(dev).expect("two").iter().map(|i| i.drops).collect();
        assert_eq!(drops, [11, 5]);
        assert_eq!(parse_interfaces("\n\neth0: 7 x\n"), None);
        let stat = "entries  searched drop early_drop\n0000000a  0 00000001 0\n0000000a  0 00000010 0\n";
        assert_eq!(parse_conntrack(stat), Some((10, 17)));
        assert_eq!(parse_conntrack("entries drop\n"), None, "no processor");
        assert_eq!(parse_conntrack("entries found\n1 2\n"), None);
        let at =
            |name: &str, sent_bytes| Interface { name: name.to_owned(), sent_bytes, ..Interface::default() };
        let before = [at("eth0", 100), at("eth1", 0), at("tun0", 0)];
        let now = [at("eth0", 1_100), at("eth1", 900), at("tun0", 1_000_000), at("new0", 5)];
        let speed = |name: &str| name.strip_prefix("eth").map(|n| if n == "0" { 10_000 } else { 1_000 });
        let link = busiest_link(&now, &before, speed).expect("two have a speed");
        assert_eq!((link.sent_bytes, link.bits_per_second), (900, 1_000));
    }

    #[test]
    fn what_this_process_sends_is_counted() {
        let scene = WatchScope {
            subjects: vec![WatchedTree { pids: vec![std::process::id()], ..WatchedTree::default() }],
            ..WatchScope::default()
        };
        let (mut networks, mut window) = (NetworkSource::default(), Window::default());
        networks.cut(&scene, &mut window);
        assert_eq!(window.network, None, "nothing to compare with");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let mut client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (mut server, _) = listener.accept().expect("there is a connection");
        client.write_all(&[1; 10_000]).expect("there is room");
        server.read_exact(&mut [0; 10_000]).expect("it was sent");
        networks.cut(&scene, &mut window);
        let network = window.network.expect("Linux has all of it");
        assert!(network.segments_sent > 0 && network.received_bytes >= 10_000, "{network:?}");
        assert!(networks.missing().is_empty());
    }
}
