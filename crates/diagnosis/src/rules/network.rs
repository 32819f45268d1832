//! The network, by the counters of the service's namespace.

use crate::case::Case;
use crate::finding::{EvidenceExt, RuleFinding, fact, source};
use crate::format::{format_bytes, format_number};
use crate::part_summary::PartSummary;
use crate::request_path;
use record::Cause;
use record::watch::{InterfaceTraffic, Network, Window};
use units::{Share, grouped};

/// Share of retransmitted segments.
const AGAIN: f64 = 0.01;
/// Fewer retransmissions per second are chance.
const LEAST_AGAIN: f64 = 2.0;
/// Share of dropped packets that matters, and the fewest per second.
const DROPPED: f64 = 0.001;
const LEAST_DROPPED: f64 = 1.0;
/// Utilisation of a full link; frame headers are not counted.
const LINK_FULL: f64 = 0.9;
/// Utilisation of the connection tracking table.
const TABLE_FULL: f64 = 0.95;
/// While it was well the same figure is at most this share of it.
const BEFORE: f64 = 0.5;
/// Linux' minimum retransmission timeout (TCP_RTO_MIN), in seconds.
const RETRY: f64 = 0.2;

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
fn before(case: &Case<'_>, of: impl Fn(&Network) -> f64) -> Option<f64> {
    case.when_well(|side| side.all.network.as_ref().map_or(0.0, &of))
}

/// Whether there was much less of it while the target was well; or nothing to compare with.
fn is_new(now: f64, before: Option<f64>) -> bool {
    before.is_none_or(|before| before <= BEFORE * now)
}

fn in_window(window: &Window, is: impl Fn(&Network) -> bool) -> bool {
    window.network.as_ref().is_some_and(is)
}

/// Segments are lost, and retransmitted.
pub(crate) fn retransmissions(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.bad.all.network.as_ref()?;
    let (share, well) = (retransmitted_share(network), before(case, retransmitted_share));
    let often = case.bad.per_second(network.segments_retransmitted) >= LEAST_AGAIN;
    // A full queue that drops a connection makes the client retransmit: that is the queue's doing.
    let turned_away = network.listen_overflows + network.listen_drops;
    if share < AGAIN || !often || !is_new(share, well) || turned_away * 2 >= network.segments_retransmitted {
        return None;
    }
    // A retransmission takes at least that long.
    let shows = case.bad.load.response_p99.is_some_and(|p99| p99 >= RETRY);
    let drops = dropped(network);
    Some(
        RuleFinding::new(Cause::Retransmissions)
            .with_sentence(format!(
                "Segments are lost on the way: {} of them were retransmitted, each after {} ms or more.",
                Share(share),
                format_number(RETRY * 1e3)
            ))
            .margin(share, AGAIN, 3.0 * AGAIN)
            .holding(case, |w| in_window(w, |network| retransmitted_share(network) >= AGAIN))
            .sources(1 + u32::from(shows) + u32::from(drops > 0))
            .fact(format!(
                "{} of {} segments retransmitted",
                grouped(network.segments_retransmitted),
                grouped(network.segments_sent)
            ))
            .measured(share, AGAIN, "share", "/proc/PID/net/snmp RetransSegs")
            .well(well)
            .evidences(drops_fact(case, network))
            .chain([
                "requests".to_owned(),
                "segments lost".to_owned(),
                "retransmitted after a time-out".to_owned(),
            ])
            .advise(
                "find where they are lost: ip -s link, ethtool -S, tc -s qdisc, and the same on \
                 the way to the clients",
            )
            .unless(format!("less than {} are retransmitted in a run that is just as slow", Share(AGAIN))),
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
    let well = case.when_well(|side| side.all.network.as_ref().map_or(0.0, |n| dropped(n) as f64));
    (!by.is_empty())
        .then(|| fact(text).measured(dropped(network) as f64, 1.0, "packets", "/proc/PID/net").well(well))
}

/// An interface, or the kernel behind it, drops packets.
pub(crate) fn drops(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.bad.all.network.as_ref()?;
    let (share, well) = (dropped_share(network), before(case, dropped_share));
    let often = case.bad.per_second(dropped(network)) >= LEAST_DROPPED;
    if share < DROPPED || !often || !is_new(share, well) {
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
                format_number(case.bad.per_second(dropped(network)))
            ))
            .margin(share, DROPPED, 5.0 * DROPPED)
            .holding(case, |w| in_window(w, |network| dropped_share(network) >= DROPPED))
            .sources(
                1 + u32::from(retransmitted_share(network) >= AGAIN) + u32::from(case.bad.load.timeouts > 0),
            )
            .evidences(drops_fact(case, network))
            .chain(["requests".to_owned(), "packets".to_owned(), "dropped".to_owned()])
            .advise(advice)
            .unless("nothing is dropped in a run that is just as slow"),
    )
}

/// The firewall's connection tracking table is full.
pub(crate) fn conntrack(case: &Case<'_>) -> Option<RuleFinding> {
    let network = case.bad.all.network.as_ref()?;
    let table = network.tracked?;
    let full = |network: &Network| network.tracked.is_some_and(|table| table.share() >= TABLE_FULL);
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
            .holding(case, |w| in_window(w, |network| network.tracking_drops > 0))
            .sources(2 + u32::from(case.bad.load.timeouts > 0))
            .fact(format!("{} of {} connections tracked", grouped(table.used), grouped(table.limit)))
            .measured(table.share(), TABLE_FULL, "share", "nf_conntrack")
            .well(before(case, |network| network.tracked.map_or(0.0, |table| table.share())))
            .fact(format!("{} packets dropped because of it", grouped(network.tracking_drops)))
            .measured(network.tracking_drops as f64, 1.0, "packets", "/proc/PID/net/stat/nf_conntrack")
            .well(before(case, |network| network.tracking_drops as f64))
            .chain(["connections".to_owned()])
            .gave(request_path::limit_station(
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
    let way = link.received_bytes.max(link.sent_bytes) as f64;
    way * 8.0 / (link.bits_per_second as f64 * seconds).max(1.0)
}

/// A link is saturated.
pub(crate) fn bandwidth(case: &Case<'_>) -> Option<RuleFinding> {
    let link = case.bad.all.network.as_ref()?.link?;
    let of = |side: &PartSummary<'_>| {
        side.all
            .network
            .and_then(|network| network.link)
            .map_or(0.0, |link| link_share(&link, side.observed_seconds()))
    };
    let share = of(&case.bad);
    if share < LINK_FULL {
        return None;
    }
    let way = if link.sent_bytes >= link.received_bytes { "sent" } else { "received" };
    let a_second = case.bad.per_second(link.sent_bytes.max(link.received_bytes)) as u64;
    let speed = units::Bytes(link.bits_per_second / 8);
    Some(
        RuleFinding::new(Cause::Bandwidth)
            .with_sentence(format!(
                "The network link is full: {} a second {way}, of the {speed} that it carries.",
                format_bytes(a_second)
            ))
            .margin(share, LINK_FULL, 0.97)
            .holding(case, |window| {
                let seconds = window.length().as_secs_f64();
                in_window(window, |network| {
                    network.link.is_some_and(|l| link_share(&l, seconds) >= LINK_FULL)
                })
            })
            .sources(2)
            .fact(format!("{} of its speed in use", Share(share)))
            .measured(share, LINK_FULL, "share", "/proc/PID/net/dev, /sys/class/net/*/speed")
            .well(case.when_well(of))
            .fact(format!("{} answers a second", format_number(case.bad.load.answered)))
            .measured(case.bad.load.answered, 0.0, "1/s", source::LOAD)
            .chain(["answers".to_owned(), format!("a link of {speed} a second")])
            .advise("send less: compress, cache nearer to clients, smaller answers; or a faster link")
            .unless("the link has room in a run that is just as slow"),
    )
}
