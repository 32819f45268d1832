use super::*;
use crate::{Event, Failure, SearchEnd};
use units::{Nanos, Rate, Share};

fn read(stored: &str) -> Caveat {
    serde_json::from_str(stored).expect(stored)
}

/// What earlier versions stored is read, with the same sentence.
#[test]
fn a_caveat_is_stored_by_the_name_of_its_doubt() {
    for (doubt, name) in [
        (CaveatKind::GeneratorLate, "generator-late"),
        (CaveatKind::Steal, "steal"),
        (CaveatKind::Other("of-a-later-version".to_owned()), "of-a-later-version"),
    ] {
        let caveat = Caveat::new(doubt, "why");
        let stored = serde_json::to_string(&caveat).expect("it can be written");
        assert_eq!(stored, format!("{{\"code\":\"{name}\",\"text\":\"why\"}}"));
        assert_eq!(read(&stored), caveat);
        assert_eq!(caveat.to_string(), "why");
    }
}

/// Runs are stored with these names: if one changes, old runs lose details.
#[test]
fn figures_keep_the_names_that_they_are_stored_by_and_make_the_sentence() {
    let why = || "connection refused".to_owned();
    let held = |made, stood, refused| CaveatDetails::Held { asked: 100, made, stood, refused };
    for (doubt, grounds, stored, sentence) in [
        (
            CaveatKind::GeneratorLate,
            CaveatDetails::Late { p99: Nanos::from_millis(30), most: Nanos::from_millis(20) },
            r#""late":{"p99":30000000,"most":20000000}"#,
            "torment itself was 30 ms late at p99 (limit: 20 ms)",
        ),
        (
            CaveatKind::GeneratorLate,
            CaveatDetails::Unsent { share: Share(0.02), most: Share(0.001) },
            r#""unsent":{"share":0.02,"most":0.001}"#,
            "torment itself left 2 % of the arrivals unsent (limit: 0.1 %)",
        ),
        (
            CaveatKind::PortsExhausted,
            CaveatDetails::Lacking { lack: ExhaustedResource::Port, arrivals: 1 },
            r#""lacking":{"lack":"port","arrivals":1}"#,
            "1 arrival failed for lack of a local port; use keep-alive, or widen net.ipv4.ip_local_port_range",
        ),
        (
            CaveatKind::GeneratorBusy,
            CaveatDetails::Busy { worked: Share(0.97), waited: Share(0.02) },
            r#""busy":{"worked":0.97,"waited":0.02}"#,
            "torment itself worked 97 % of the time and waited 2 % for a processor",
        ),
        // From two clocks, read one after the other.
        (
            CaveatKind::GeneratorBusy,
            CaveatDetails::Busy { worked: Share(0.987), waited: Share(0.018) },
            r#""busy":{"worked":0.987,"waited":0.018}"#,
            "torment itself worked 99 % of the time and waited 1 % for a processor",
        ),
        (
            CaveatKind::FewPlaces,
            CaveatDetails::Places { places: 5 },
            r#""places":{"places":5}"#,
            "the target serves 5 connections at a time, and further clients wait until one closes: torment resets idle ones to make room, other clients may not; give it more workers, a proxy in front, or a shorter keep-alive",
        ),
        (
            CaveatKind::UnevenMachine,
            CaveatDetails::Speeds { slowest: Share(0.84), quickest: Share(1.19) },
            r#""speeds":{"slowest":0.84,"quickest":1.19}"#,
            "the machine's own speed varied between 84 % and 119 % of the usual from trial to trial: other guests on the host, or a varying clock frequency; the target's capacity varies with it, so repeat at a quieter time, or on a machine that is not shared",
        ),
        (
            CaveatKind::OthersAtWork,
            CaveatDetails::Neighbours {
                names: vec!["rustc".to_owned(), "cc1".to_owned()],
                used: 1.13,
                waited: Share(0.194),
            },
            r#""neighbours":{"names":["rustc","cc1"],"used":1.13,"waited":0.194}"#,
            "other programs on the target's machine (rustc, cc1) used 1.1 processors, and the target waited 19 % of the time for one: without them it can serve more, so stop them or pin them to other processors, and measure again",
        ),
        (
            CaveatKind::SlowsDown,
            CaveatDetails::Slowed { first: Rate(452.0), last: Rate(331.4), due: 55_000 },
            r#""slowed":{"first":452.0,"last":331.4,"due":55000}"#,
            "the target slowed down from trial to trial: about 452/s at first, 331/s at the end, after 55,000 requests; its capacity depends on how long it has run, so look for what grows in it: memory, a table, a queue",
        ),
        (
            CaveatKind::WorksOn,
            CaveatDetails::WorkedOn { after: Rate(15_810.0), lasted: Nanos::from_secs(21), used: 0.87 },
            r#""worked_on":{"after":15810.0,"lasted":21000000000,"used":0.87}"#,
            "the target kept 0.9 processors busy for 21 s after a load of 15,810/s, though hardly any requests came then: it defers work that its answers do not wait for, so a longer load may be too much at the same rate; try longer trials (--trial 60s)",
        ),
        (
            CaveatKind::ClosesUnannounced,
            CaveatDetails::Answers { answers: 1 },
            r#""answers":{"answers":1}"#,
            "the target closes each connection after its answer without announcing it (Connection: close): torment makes new ones in time, other clients may lose requests; have it keep connections open, or announce their end",
        ),
        (
            CaveatKind::DelayedAcks,
            CaveatDetails::HeldBack { share: Share(0.994), pause: Nanos::from_micros(43_800) },
            r#""held_back":{"share":0.994,"pause":43800000}"#,
            "99 % of the answers were complete only 43.8 ms after their first bytes: the target writes an answer in pieces, and Nagle's algorithm holds back the next until the first is acknowledged, which the client's kernel delays by 40 ms; the target does no work meanwhile, so this costs capacity only if its connections or workers are few; set TCP_NODELAY on its connections, or write each answer at once",
        ),
        (
            CaveatKind::ConnectionsLost,
            held(40, 40, Some(Failure::Connect(why()))),
            r#""held":{"asked":100,"made":40,"stood":40,"refused":{"connect":"connection refused"}}"#,
            "40 of 100 connections could be made: connection refused",
        ),
        (
            CaveatKind::ConnectionsLost,
            held(99, 99, None),
            r#""held":{"asked":100,"made":99,"stood":99,"refused":null}"#,
            "the target closed 1 of 100 connections as soon as they were made",
        ),
        (
            CaveatKind::ConnectionsLost,
            held(100, 60, None),
            r#""held":{"asked":100,"made":100,"stood":60,"refused":null}"#,
            "the target closed 40 of 100 connections on which no request was sent",
        ),
        (
            CaveatKind::NoMoreWorkers,
            CaveatDetails::NoRoom {
                wanted: 4,
                there: 2,
                why: "worker 2 has no node: 0/3 are available".to_owned(),
            },
            r#""no_room":{"wanted":4,"there":2,"why":"worker 2 has no node: 0/3 are available"}"#,
            "4 workers are needed from here on, but only 2 are available: worker 2 has no node: 0/3 are available",
        ),
        (
            CaveatKind::NoLimit,
            CaveatDetails::NoLimit { ended: Some(SearchEnd::TargetFails) },
            r#""no_limit":{"ended":"target_fails"}"#,
            "only errors came back",
        ),
        (
            CaveatKind::NotAnswered,
            CaveatDetails::NotAnswered { bad: 5, due: 105, most: Some(Failure::Closed) },
            r#""not_answered":{"bad":5,"due":105,"most":"closed"}"#,
            "5 of 105 requests were not answered, most of them: connection closed before the answer was complete",
        ),
    ] {
        let caveat = Caveat::with_details(doubt, grounds);
        assert_eq!(caveat.to_string(), sentence);
        let stored = format!("{{\"code\":\"{}\",{stored}}}", caveat.doubt);
        assert_eq!(serde_json::to_string(&caveat).expect("it can be written"), stored);
        assert_eq!(read(&stored), caveat);
    }
}

#[test]
fn a_caveat_without_figures_or_with_those_of_a_later_version_still_says_something() {
    let cut = Caveat::from(CaveatKind::Interrupted);
    assert_eq!(serde_json::to_string(&cut).expect("it can be written"), r#"{"code":"interrupted"}"#);
    assert_eq!(read(r#"{"code":"interrupted"}"#), cut);
    assert_eq!(cut.to_string(), "the load was interrupted before its end");
    for later in [r#"{"code":"steal","later":{"cpus":3}}"#, r#"{"code":"steal","late":{"cpus":3}}"#] {
        assert_eq!(read(later), Caveat::from(CaveatKind::Steal));
    }
    assert_eq!(Caveat::from(CaveatKind::Steal).to_string(), "steal");
}

#[test]
fn the_words_of_others_in_it_can_be_hidden() {
    let why = || "s3cret".to_owned();
    for grounds in [
        CaveatDetails::Text(why()),
        CaveatDetails::NotReset { trial: 3, why: why() },
        CaveatDetails::NoRoom { wanted: 9, there: 3, why: why() },
        CaveatDetails::Held { asked: 9, made: 4, stood: 4, refused: Some(Failure::Connect(why())) },
        CaveatDetails::NotAnswered { bad: 1, due: 9, most: Some(Failure::Check(why())) },
    ] {
        let mut event = Event::Caveat { caveat: Caveat::with_details(CaveatKind::NotReset, grounds) };
        event.visit_texts(&mut |text| *text = text.replace("s3cret", "…"));
        let Event::Caveat { caveat } = event else { panic!("it was one") };
        assert!(caveat.to_string().contains('…') && !caveat.to_string().contains("s3cret"), "{caveat}");
    }
}

/// Runs of earlier versions have this form.
#[test]
fn a_caveat_of_a_run_is_stored_as_a_doubt() {
    let event = Event::Caveat { caveat: CaveatKind::Steal.into() };
    let stored = serde_json::to_value(&event).expect("an event is JSON");
    assert_eq!(stored["event"], "doubt");
    assert_eq!(serde_json::from_value::<Event>(stored).expect("it was one"), event);
}
