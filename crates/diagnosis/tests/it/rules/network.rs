//! The network: loss, drops, connection tracking, and a saturated link.

use crate::builders::*;
use record::watch::{InterfaceTraffic, LimitUsage, Network, ThreadWait, Window};
use record::{Cause, Diagnosis};

fn quiet(network: Network) -> Window {
    let mut window = second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 196.0), (ThreadWait::Client, 4.0)])]);
    window.network = Some(network);
    window
}

fn sent() -> Network {
    Network { segments_sent: 10_000, ..Network::default() }
}

/// Well and then degraded: 390 requests are outstanding.
fn judged(well: Network, bad: Network) -> Diagnosis {
    judge(
        watched(),
        vec![load(100.0, 100.0, 1.0, 10, quiet(well)), load(400.0, 300.0, 390.0, 900, quiet(bad))],
    )
}

fn names(diagnosis: &Diagnosis, cause: Cause) -> bool {
    diagnosis.findings.iter().any(|finding| finding.cause == cause)
}

#[test]
fn segments_that_are_sent_again() {
    let lossy = |again| Network { segments_retransmitted: again, ..sent() };
    let diagnosis = judged(lossy(5), lossy(400));
    expect(&diagnosis, Cause::Retransmissions);
    assert!(diagnosis.sentences[0].contains("4 %"), "{:?}", diagnosis.sentences);
    assert!(diagnosis.findings[0].evidence[0].text.contains("2,000 of 50,000 segments"), "{diagnosis:#?}");
    for (well, bad, why) in [
        (lossy(5), lossy(60), "0.6 % is no more than usual on the way"),
        (lossy(350), lossy(400), "it was as much where the target was well"),
        (lossy(0), Network { segments_sent: 50, ..lossy(1) }, "one in a second is chance"),
        (
            lossy(0),
            Network { listen_overflows: 300, ..lossy(400) },
            "they ask again for what a queue turned away",
        ),
    ] {
        assert!(!names(&judged(well, bad), Cause::Retransmissions), "{why}");
    }
}

#[test]
fn packets_that_are_dropped_and_by_whom() {
    let dropped = |interface_drops, softnet_drops, backlog_drops| Network {
        interface_drops,
        softnet_drops,
        backlog_drops,
        ..sent()
    };
    for (bad, who) in [
        (dropped(90, 0, 0), "the interface drops them"),
        (dropped(0, 90, 10), "the processor that handles packets"),
        (dropped(0, 0, 90), "sockets drop them"),
    ] {
        let diagnosis = judged(sent(), bad);
        expect(&diagnosis, Cause::PacketDrops);
        assert!(diagnosis.sentences[0].contains(who), "{:?}", diagnosis.sentences);
    }
    assert!(!names(&judged(sent(), dropped(5, 0, 0)), Cause::PacketDrops), "1 of 2,000");
    assert!(!names(&judged(dropped(90, 0, 0), dropped(90, 0, 0)), Cause::PacketDrops), "as when well");
    // Drops cause retransmissions.
    let lost = Network { segments_retransmitted: 300, ..dropped(90, 0, 0) };
    let diagnosis = judged(sent(), lost);
    expect(&diagnosis, Cause::PacketDrops);
    assert_eq!(
        diagnosis.findings.iter().find(|f| f.cause == Cause::Retransmissions).and_then(|f| f.follows_from),
        Some(Cause::PacketDrops)
    );
}

#[test]
fn a_table_of_connections_that_is_full() {
    let tracked = |used, tracking_drops| Network {
        tracked: Some(LimitUsage { used, limit: 1_000 }),
        tracking_drops,
        ..sent()
    };
    let diagnosis = judged(tracked(300, 0), tracked(1_000, 50));
    expect(&diagnosis, Cause::Tracking);
    assert!(diagnosis.sentences[0].contains("1,000 of 1,000"), "{:?}", diagnosis.sentences);
    assert!(
        !names(&judged(tracked(300, 0), tracked(1_000, 0)), Cause::Tracking),
        "full, and nobody turned away"
    );
    assert!(!names(&judged(tracked(300, 0), tracked(500, 3)), Cause::Tracking), "dropped for another reason");
}

#[test]
fn a_link_that_carries_what_it_can() {
    let gigabit = |sent_bytes| Network {
        link: Some(InterfaceTraffic {
            received_bytes: 1_000_000,
            sent_bytes,
            bits_per_second: 1_000_000_000,
        }),
        ..sent()
    };
    let diagnosis = judged(gigabit(60_000_000), gigabit(119_000_000));
    expect(&diagnosis, Cause::Bandwidth);
    assert!(diagnosis.sentences[0].contains("a second sent"), "{:?}", diagnosis.sentences);
    assert!(!names(&judged(gigabit(60_000_000), gigabit(105_000_000)), Cause::Bandwidth), "84 % of it");
}
