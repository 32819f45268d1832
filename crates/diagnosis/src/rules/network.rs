//! The network, by the counters of the service's namespace.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::format_number;
use crate::part_summary::PartSummary;
use crate::request_path;
use record::Cause;
use record::watch::{InterfaceTraffic, Network, Window};
use units::{Bytes, Share, grouped};

/// Share of retransmitted segments.
const MIN_RETRANSMITTED_SHARE: f64 = 0.01;
/// Fewer retransmissions per second are chance.
const MIN_RETRANSMITTED_RATE: f64 = 2.0;
/// Share of dropped packets that matters, and the fewest per second.
const MIN_DROPPED_SHARE: f64 = 0.001;
const MIN_DROPPED_RATE: f64 = 1.0;
/// Utilisation of a full link; frame headers are not counted.
const MIN_LINK_SHARE: f64 = 0.9;
/// Utilisation of the connection tracking table.
const MIN_TABLE_SHARE: f64 = 0.95;
/// While it was well the same figure is at most this share of it.
const MAX_WELL_RATIO: f64 = 0.5;
/// Linux' minimum retransmission timeout (TCP_RTO_MIN), in seconds.
const MIN_RETRANSMISSION_TIMEOUT: f64 = 0.2;

fn retransmitted_share(network: &Network) -> f64 {
    network.segments_retransmitted as f64 / network.segments_sent.max(1) as f64
}

/// Packets dropped on their way in or out, before reaching a socket.
fn dropped(network: &Network) -> u64 {
    network.interface_drops + network.softnet_drops + network.backlog_drops
}

/// Relative to segments sent, for packets are not counted.
fn dropped_share(network: &Network) -> f64 {
    dropped(network) as f64 / network.segments_sent.max(1) as f64
}

/// A network figure while the target was well, if observed then.
fn network_when_well(case: &Case<'_>, of: impl Fn(&Network) -> f64) -> Option<f64> {
    case.when_well(|side| side.merged.network.as_ref().map_or(0.0, &of))
}

/// Whether there was much less of it while the target was well; or nothing to compare with.
fn is_new(now: f64, before: Option<f64>) -> bool {
    before.is_none_or(|before| before <= MAX_WELL_RATIO * now)
}

fn in_window(window: &Window, is: impl Fn(&Network) -> bool) -> bool {
    window.network.as_ref().is_some_and(is)
}

/// Segments are lost, and retransmitted.
pub(crate) fn retransmissions(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.degraded.merged.network.as_ref()?;
    let (share, well) = (retransmitted_share(network), network_when_well(case, retransmitted_share));
    let often = case.degraded.per_second(network.segments_retransmitted) >= MIN_RETRANSMITTED_RATE;
    // A full queue that drops a connection makes the client retransmit: that is the queue's doing.
    let turned_away = network.listen_overflows + network.listen_drops;
    if share < MIN_RETRANSMITTED_SHARE
        || !often
        || !is_new(share, well)
        || turned_away * 2 >= network.segments_retransmitted
    {
        return None;
    }
    // A retransmission takes at least that long.
    let shows = case.degraded.load.response_p99.is_some_and(|p99| p99 >= MIN_RETRANSMISSION_TIMEOUT);
    let drops = dropped(network);
    Some(
        RuleFinding::new(Cause::Retransmissions)
            .with_sentence(format!(
                "TCP segments are lost in transit: {} of them were retransmitted, each after {} ms or more.",
                Share(share),
                format_number(MIN_RETRANSMISSION_TIMEOUT * 1e3)
            ))
            .margin(share, MIN_RETRANSMITTED_SHARE, 3.0 * MIN_RETRANSMITTED_SHARE)
            .persisting(case, |w| {
                in_window(w, |network| retransmitted_share(network) >= MIN_RETRANSMITTED_SHARE)
            })
            .sources(1 + u32::from(shows) + u32::from(drops > 0))
            .fact(format!(
                "{} of {} segments retransmitted",
                grouped(network.segments_retransmitted),
                grouped(network.segments_sent)
            ))
            .measured(share, MIN_RETRANSMITTED_SHARE, "share", "/proc/PID/net/snmp RetransSegs")
            .well(well)
            .evidences(drops_fact(case, network))
            .chain(["requests", "segments lost", "retransmitted after a time-out"])
            .advise(
                "find where they are lost: ip -s link, ethtool -S, tc -s qdisc, and the same on \
                 the way to the clients",
            )
            .unless(format!(
                "less than {} are retransmitted in a run that is just as slow",
                Share(MIN_RETRANSMITTED_SHARE)
            )),
    )
}

/// Where packets were dropped.
fn drops_fact(case: &Case<'_>, network: &Network) -> Option<record::Evidence> {
    let by = [
        (network.interface_drops, "by interfaces"),
        (network.softnet_drops, "by processors that could not keep up"),
        (network.backlog_drops, "at sockets whose owner was busy"),
    ];
    let by: Vec<String> =
        by.iter().filter(|(n, _)| *n > 0).map(|(n, by)| format!("{} {by}", grouped(*n))).collect();
    let text = format!("packets dropped: {}", by.join(", "));
    let well = network_when_well(case, |network| dropped(network) as f64);
    (!by.is_empty())
        .then(|| fact(text).measured(dropped(network) as f64, 1.0, "packets", "/proc/PID/net").well(well))
}

/// An interface, or the kernel behind it, drops packets.
pub(crate) fn drops(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.degraded.merged.network.as_ref()?;
    let (share, well) = (dropped_share(network), network_when_well(case, dropped_share));
    let often = case.degraded.per_second(dropped(network)) >= MIN_DROPPED_RATE;
    if share < MIN_DROPPED_SHARE || !often || !is_new(share, well) {
        return None;
    }
    let (who, advice) = if network.softnet_drops * 2 >= dropped(network) {
        (
            "the processor that handles packets cannot keep up",
            "spread packets over the processors: more queues (ethtool -L), RPS (rps_cpus), net.core.netdev_max_backlog",
        )
    } else if network.interface_drops * 2 >= dropped(network) {
        (
            "the interface drops them",
            "a longer ring (ethtool -G), a faster interface, or fewer and larger packets",
        )
    } else {
        (
            "sockets drop them, because their owner does not read in time",
            "find what holds up the threads that read; net.core.rmem_max only hides it",
        )
    };
    Some(
        RuleFinding::new(Cause::PacketDrops)
            .with_sentence(format!(
                "{} packets a second are dropped on this machine: {who}.",
                format_number(case.degraded.per_second(dropped(network)))
            ))
            .margin(share, MIN_DROPPED_SHARE, 5.0 * MIN_DROPPED_SHARE)
            .persisting(case, |w| in_window(w, |network| dropped_share(network) >= MIN_DROPPED_SHARE))
            .sources(
                1 + u32::from(retransmitted_share(network) >= MIN_RETRANSMITTED_SHARE)
                    + u32::from(case.degraded.load.timeouts > 0),
            )
            .evidences(drops_fact(case, network))
            .chain(["requests", "packets", "dropped"])
            .advise(advice)
            .unless("nothing is dropped in a run that is just as slow"),
    )
}

/// The firewall's connection tracking table is full.
pub(crate) fn conntrack(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.degraded.merged.network.as_ref()?;
    let table = network.tracked?;
    let full = |network: &Network| network.tracked.is_some_and(|table| table.share() >= MIN_TABLE_SHARE);
    if network.tracking_drops == 0 || !full(network) {
        return None;
    }
    Some(
        RuleFinding::new(Cause::Tracking)
            .with_sentence(format!(
                "The firewall's table of connections is full: {} of {} are taken, and packets of new ones \
                 are dropped.",
                grouped(table.used),
                grouped(table.limit)
            ))
            .persisting(case, |w| in_window(w, |network| network.tracking_drops > 0))
            .sources(2 + u32::from(case.degraded.load.timeouts > 0))
            .fact(format!("{} of {} connections tracked", grouped(table.used), grouped(table.limit)))
            .measured(table.share(), MIN_TABLE_SHARE, "share", "nf_conntrack")
            .well(network_when_well(case, |network| network.tracked.map_or(0.0, |table| table.share())))
            .fact(format!("{} packets dropped because of it", grouped(network.tracking_drops)))
            .measured(network.tracking_drops as f64, 1.0, "packets", "/proc/PID/net/stat/nf_conntrack")
            .well(network_when_well(case, |network| network.tracking_drops as f64))
            .chain(["connections"])
            .limiting(request_path::limit_station(
                format!("a table of {}", grouped(table.limit)),
                table.used as f64,
                table.limit as f64,
            ))
            .advise(
                "keep connections alive; net.netfilter.nf_conntrack_max; or do not track this port (NOTRACK)",
            )
            .unless("the table has room in a run that fails the same way"),
    )
}

/// Utilisation of a link in its busier direction, over this many seconds.
fn link_share(link: &InterfaceTraffic, seconds: f64) -> f64 {
    let bytes = link.received_bytes.max(link.sent_bytes) as f64;
    bytes * 8.0 / (link.bits_per_second as f64 * seconds).max(1.0)
}

/// A link is saturated.
pub(crate) fn bandwidth(case: &Case<'_>) -> Option<RuleFinding> {
    let link = case.degraded.merged.network.as_ref()?.link?;
    let of = |side: &PartSummary<'_>| {
        let link = side.merged.network.and_then(|network| network.link);
        link.map_or(0.0, |link| link_share(&link, side.observed_seconds()))
    };
    let share = of(&case.degraded);
    if share < MIN_LINK_SHARE {
        return None;
    }
    let direction = if link.sent_bytes >= link.received_bytes { "sent" } else { "received" };
    let a_second = case.degraded.per_second(link.sent_bytes.max(link.received_bytes)) as u64;
    let speed = Bytes(link.bits_per_second / 8);
    Some(
        RuleFinding::new(Cause::Bandwidth)
            .with_sentence(format!(
                "The network link is full: {} a second {direction}, of the {speed} that it carries.",
                Bytes(a_second)
            ))
            .margin(share, MIN_LINK_SHARE, 0.97)
            .persisting(case, |window| {
                let seconds = window.length().as_secs_f64();
                in_window(window, |network| {
                    network.link.is_some_and(|l| link_share(&l, seconds) >= MIN_LINK_SHARE)
                })
            })
            .sources(2)
            .fact(format!("{} of its speed in use", Share(share)))
            .measured(share, MIN_LINK_SHARE, "share", "/proc/PID/net/dev, /sys/class/net/*/speed")
            .well(case.when_well(of))
            .fact(format!("{} answers a second", format_number(case.degraded.load.answered)))
            .measured(case.degraded.load.answered, 0.0, "1/s", source::LOAD)
            .chain(["answers".to_owned(), format!("a link of {speed} a second")])
            .advise("send less: compress, cache nearer to clients, smaller answers; or a faster link")
            .unless("the link has room in a run that is just as slow"),
    )
}
