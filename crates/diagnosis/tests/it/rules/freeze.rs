//! A service that freezes now and then.

use crate::builders::*;
use record::watch::{ListenSocket, Network, ThreadWait, Window};
use record::{Cause, Diagnosis};

/// One thread that mostly waits for events.
fn idle() -> Window {
    second(vec![workers(0.05, 0.0, &[(ThreadWait::Events, 0.95), (ThreadWait::Running, 0.05)])])
}

/// The service in a second in which its accept queue is full.
fn full() -> Window {
    let mut full = idle();
    full.subjects[0].listeners =
        vec![ListenSocket { address: "127.0.0.1:80".to_owned(), queued: 490, backlog: 511 }];
    full.network = Some(Network { listen_overflows: 44, ..Network::default() });
    full
}

/// A trial at this rate with this many outstanding.
fn trial(rate: f64, outstanding: f64) -> Load {
    load(rate, rate, outstanding, 20, idle())
}

/// One with a freeze of a second, whose requests have waited since.
fn froze(rate: f64) -> Load {
    Load { still: Some((200, 1_200)), ..trial(rate, 0.95 * rate) }
}

fn bad(load: Load) -> Load {
    Load { good: false, window: full(), ..load }
}

fn followed(diagnosis: &Diagnosis) -> Option<Cause> {
    diagnosis.findings.iter().find(|found| found.cause == Cause::AcceptQueue)?.follows_from
}

/// The verdict for a service that froze for one second in ten was the accept queue that each freeze filled.
#[test]
fn a_freeze_outranks_the_full_queue_that_it_caused() {
    let found = judge(
        watched(),
        vec![trial(250.0, 5.0), froze(490.0), froze(494.0), bad(froze(503.0)), bad(froze(548.0))],
    );
    expect(&found, Cause::Freeze);
    assert_eq!(followed(&found), Some(Cause::Freeze), "{found:#?}");
    let said = &found.sentences[0];
    assert!(said.starts_with("java froze 4 times for 1 s each"), "{said}");
    assert!(said.contains("more than its queue of 511 new connections holds"), "{said}");
    // The good trials next to the limit froze as often, so freezes do not make the others bad.
    assert!(!said.contains("every bad trial"), "{said}");
    assert_eq!(found.findings[0].confidence.word(), "low", "{found:#?}");
}

#[test]
fn where_only_the_bad_trials_froze_it_is_what_makes_them_bad() {
    let found =
        judge(watched(), vec![trial(250.0, 5.0), trial(490.0, 10.0), bad(froze(503.0)), bad(froze(507.0))]);
    expect(&found, Cause::Freeze);
    let said = &found.sentences[0];
    assert!(said.ends_with("It froze in every bad trial next to the limit, and in few good ones."), "{said}");
    assert_ne!(found.findings[0].confidence.word(), "low", "{found:#?}");
}

/// If most would wait anyway, freezes are no cause; nor is a single one.
#[test]
fn an_overload_with_a_few_freezes_is_an_overload() {
    let crowd = |rate: f64| Load { outstanding: 5.0 * rate, ..froze(rate) };
    let found = judge(watched(), vec![trial(250.0, 5.0), bad(crowd(900.0)), bad(crowd(800.0))]);
    assert_eq!((found.cause(), followed(&found)), (Some(Cause::AcceptQueue), None), "{found:#?}");
    let found = judge(watched(), vec![trial(250.0, 5.0), bad(froze(503.0))]);
    assert_eq!(found.cause(), Some(Cause::AcceptQueue), "{found:#?}");
}
