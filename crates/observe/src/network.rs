//! The counters of the network namespace that the target is in.

use crate::said::Said;
use crate::scene::Scene;
use crate::source::{ONLY_AT_CUTS, Source};
use record::watch::{Missing, Network, Window};
use std::time::Duration;
use std::{fs, io};

/// Reads /proc/PID/net of the service's first process.
#[derive(Debug, Default)]
pub(crate) struct Networks {
    /// Of which process, and its counters.
    before: Option<(u32, Network)>,
    said: Said,
}

/// What has the numbers of one name in files of two lines each: names, then numbers.
pub(crate) fn named(text: &str, table: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.split(':').next() == Some(table));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split(' ').position(|word| word == name)?;
    // Some are signed: -1 says that there is no limit.
    numbers.split(' ').nth(at)?.parse().ok()
}

/// Packets that processors dropped: the second column, in hexadecimal digits, of each.
pub(crate) fn softnet(text: &str) -> Option<u64> {
    let drops = |line: &str| u64::from_str_radix(line.split(' ').nth(1)?, 16).ok();
    text.lines().try_fold(0_u64, |sum, line| sum.checked_add(drops(line)?))
}

/// Bytes received and sent, of all interfaces.
pub(crate) fn bytes(dev: &str) -> Option<(u64, u64)> {
    let mut sum = (0_u64, 0_u64);
    for line in dev.lines().skip(2) {
        let mut numbers = line.split_once(':')?.1.split_ascii_whitespace();
        sum.0 = sum.0.checked_add(numbers.next()?.parse().ok()?)?;
        sum.1 = sum.1.checked_add(numbers.nth(7)?.parse().ok()?)?;
    }
    Some(sum)
}

/// Sockets in TIME_WAIT, of both versions of IP: `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 143`.
pub(crate) fn time_wait(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    let mut words = line.split(' ').skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

fn read(pid: u32) -> io::Result<Network> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
    let (netstat, snmp, dev, sockstat) = (read("netstat")?, read("snmp")?, read("dev")?, read("sockstat")?);
    let softnet_stat = read("softnet_stat")?;
    let all = || {
        let extended = |name: &str| named(&netstat, "TcpExt", name);
        let (received_bytes, sent_bytes) = bytes(&dev)?;
        Some(Network {
            listen_overflows: extended("ListenOverflows")?,
            listen_drops: extended("ListenDrops")?,
            segments_sent: named(&snmp, "Tcp", "OutSegs")?,
            segments_retransmitted: named(&snmp, "Tcp", "RetransSegs")?,
            backlog_drops: extended("TCPBacklogDrop")?,
            softnet_drops: softnet(&softnet_stat)?,
            received_bytes,
            sent_bytes,
            time_wait: time_wait(&sockstat)?,
        })
    };
    all().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a file in it is in no known format"))
}

fn grown(now: Network, before: Network) -> Network {
    let since = u64::saturating_sub;
    Network {
        listen_overflows: since(now.listen_overflows, before.listen_overflows),
        listen_drops: since(now.listen_drops, before.listen_drops),
        segments_sent: since(now.segments_sent, before.segments_sent),
        segments_retransmitted: since(now.segments_retransmitted, before.segments_retransmitted),
        backlog_drops: since(now.backlog_drops, before.backlog_drops),
        softnet_drops: since(now.softnet_drops, before.softnet_drops),
        received_bytes: since(now.received_bytes, before.received_bytes),
        sent_bytes: since(now.sent_bytes, before.sent_bytes),
        time_wait: now.time_wait,
    }
}

impl Source for Networks {
    fn every(&self) -> Duration {
        ONLY_AT_CUTS
    }

    fn read(&mut self, _: &Scene) {}

    fn cut(&mut self, scene: &Scene, window: &mut Window) {
        let Some(&pid) = scene.subjects.first().and_then(|cast| cast.pids.first()) else { return };
        match read(pid) {
            Ok(now) => {
                if let Some((of, before)) = self.before
                    && of == pid
                {
                    window.network = Some(grown(now, before));
                }
                self.before = Some((pid, now));
            }
            // It has just ended: a folder that is gone, or (EINVAL) a namespace that is.
            Err(error) if matches!(error.raw_os_error(), Some(2 | 3 | 22)) => self.before = None,
            Err(error) => {
                let why = format!("/proc/{pid}/net cannot be read: {error}");
                self.said.say("counters of the network", why);
            }
        }
    }

    fn missing(&self) -> Vec<Missing> {
        self.said.list()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Cast;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn formats() {
        let snmp = "Ip: Forwarding\nIp: 1\nTcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 55 3\n";
        assert_eq!(named(snmp, "Tcp", "OutSegs"), Some(55));
        assert_eq!(named(snmp, "Tcp", "MaxConn"), None);
        assert_eq!(named(snmp, "Udp", "OutSegs"), None);
        assert_eq!(named("Tcp: OutSegs\n", "Tcp", "OutSegs"), None);
        assert_eq!(softnet("0a 0000000f 1\n0b 00000001 0\n"), Some(16));
        assert_eq!(softnet("x\n"), None);
        let dev = "Inter-| Receive\n face |bytes\n    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0\neth0:7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n";
        assert_eq!(bytes(dev), Some((17, 19)));
        assert_eq!(time_wait("sockets: used 15\nTCP: inuse 1 orphan 0 tw 27 alloc 1 mem 3\n"), Some(27));
        assert_eq!(time_wait("sockets: used 15\n"), None);
        // What overflows is none.
        let much = format!("a:{0} 0 0 0 0 0 0 0 {0}\n", u64::MAX);
        assert_eq!(bytes(&format!("\n\n{much}{much}")), None);
        assert_eq!(softnet("0 ffffffffffffffff\n0 1\n"), None);
    }

    #[test]
    fn what_this_process_sends_is_counted() {
        let scene = Scene {
            subjects: vec![Cast { pids: vec![std::process::id()], ..Cast::default() }],
            ..Scene::default()
        };
        let (mut networks, mut window) = (Networks::default(), Window::default());
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
