use super::*;
use record::{Outcome, Purpose, Recovery};

/// Ten seconds at 1,000/s, all answered after 5 ms, five outstanding throughout.
pub(crate) fn calm() -> TrialResult {
    let mut total = Slice { due: 10_000, sent: 10_000, outstanding: vec![5.0; 100], ..Slice::default() };
    total.outcomes.add(Outcome::Ok, 10_000);
    total.response.record_many(Nanos::from_millis(5), 10_000);
    total.pacing.record_many(Nanos::from_micros(20), 10_000);
    (total.waited_ns, total.outstanding_ns) = (50_000_000_000, 50_000_000_000);
    TrialResult {
        purpose: Purpose::Measure,
        rate: Rate(1000.0),
        planned: Nanos::from_secs(10),
        loaded: Nanos::from_secs(10),
        drain: Nanos::from_millis(100),
        hopeless: false,
        total,
        recovery: Recovery::NotNeeded,
        caveats: Vec::new(),
        members: Vec::new(),
    }
}

/// The same, with `count` of the good ones ended so instead.
fn with(outcome: Outcome, count: u64) -> TrialResult {
    let mut r = calm();
    r.total.outcomes.ok -= count;
    r.total.outcomes.add(outcome, count);
    r
}

fn growing(by: f64) -> TrialResult {
    let mut r = calm();
    r.total.outstanding = (0..100).map(|i| 5.0 + by * i as f64 / 10.0).collect();
    r
}

fn goal(text: &str) -> Objective {
    text.parse().expect("a goal")
}

#[test]
fn good_or_bad() {
    let check = |r: TrialResult, objective: &str, good: bool, loss: f64| {
        let j = judge(&r, &goal(objective), Share(0.02), None);
        assert_eq!(j.good, good, "{objective}: {j:?}");
        assert!((j.loss - loss).abs() < 1e-9 && j.invalid.is_empty(), "{objective}: {j:?}");
    };
    check(calm(), "zero-drop", true, 0.0);
    for outcome in Outcome::ALL.into_iter().filter(|o| o.is_bad()) {
        check(with(outcome, 1), "zero-drop", false, 1e-4);
        check(with(outcome, 10), "loss<0.1%", true, 1e-3);
        check(with(outcome, 11), "loss<0.1%", false, 1.1e-3);
    }
    check(with(Outcome::Unsent, 5), "zero-drop", true, 0.0);
    check(growing(20.0), "zero-drop", false, 0.02);
    check(growing(4.0), "zero-drop", true, 0.0);
    check(growing(20.0), "loss<5%", true, 0.02);
    check(growing(20.0), "p95<50ms", false, 0.02);
    check(TrialResult { hopeless: true, ..calm() }, "loss<5%", false, 0.0);
}

#[test]
fn each_way_to_be_invalid_has_its_caveat() {
    let check = |name: &str, change: &dyn Fn(&mut TrialResult), objective: &str, code: &str| {
        let mut r = calm();
        change(&mut r);
        let codes: Vec<String> = judge(&r, &goal(objective), Share(0.02), None)
            .invalid
            .into_iter()
            .map(|c| c.doubt.to_string())
            .collect();
        assert_eq!(codes, if code.is_empty() { vec![] } else { vec![code.to_owned()] }, "{name}");
    };
    let late = |us: u64| move |r: &mut TrialResult| r.total.pacing.record_many(Nanos::from_micros(us), 200);
    let held = |s: u64| move |r: &mut TrialResult| r.total.outstanding_ns = s * 1_000_000_000;
    check("nothing", &|_| {}, "zero-drop", "");
    check("unsent", &|r| *r = with(Outcome::Unsent, 11), "zero-drop", "generator-late");
    check("late", &late(21_000), "zero-drop", "generator-late");
    check("not so late", &late(19_000), "zero-drop", "");
    let few = |r: &mut TrialResult| {
        r.total.pacing.clear();
        r.total.pacing.record_many(Nanos::from_micros(20), 95);
        r.total.pacing.record_many(Nanos::from_millis(90), 5);
    };
    check("a hiccup in a small trial", &few, "zero-drop", "");
    check("late for a deadline", &late(6_000), "p99<50ms", "generator-late");
    check("not so late for a deadline", &late(4_000), "p99<50ms", "");
    check("at least 1 ms", &late(900), "p99<5ms", "");
    check("off plan", &|r| r.rate = Rate(1100.0), "zero-drop", "off-plan");
    check("within chance", &|r| r.rate = Rate(1030.0), "zero-drop", "");
    check("not sent", &|r| r.total.sent = 9_000, "loss<1%", "off-plan");
    check("Little's law", &held(65), "zero-drop", "littles-law");
    check("within the bookkeeping's resolution", &held(55), "zero-drop", "");
    check(
        "too short to tell",
        &|r| (r.total.outstanding_ns, r.loaded, r.rate) = (65_000_000_000, Nanos::from_secs(9), Rate(1111.0)),
        "zero-drop",
        "",
    );
    let lacks = [
        CaveatKind::DescriptorsExhausted,
        CaveatKind::PortsExhausted,
        CaveatKind::WatchesExhausted,
        CaveatKind::MemoryExhausted,
    ];
    let slowed = [CaveatKind::GeneratorBusy, CaveatKind::Steal];
    for (doubt, slows) in
        lacks.map(|doubt| (doubt, false)).into_iter().chain(slowed.map(|doubt| (doubt, true)))
    {
        let said = || Caveat::new(doubt.clone(), "said by the runner");
        let lost =
            |r: &mut TrialResult| *r = TrialResult { caveats: vec![said()], ..with(Outcome::Timeout, 9) };
        check(doubt.name(), &lost, "zero-drop", doubt.name());
        check("good all the same", &|r| r.caveats.push(said()), "zero-drop", "");
        let wrong =
            |r: &mut TrialResult| *r = TrialResult { caveats: vec![said()], ..with(Outcome::Failed, 9) };
        let voids = if slows { "" } else { doubt.name() };
        check("no slowness makes an answer wrong", &wrong, "zero-drop", voids);
    }
    check(
        "another caveat",
        &|r| r.caveats.push(Caveat::new(CaveatKind::Other("shared-core".to_owned()), "")),
        "zero-drop",
        "",
    );
}

#[test]
fn hopeless_only_when_no_later_second_can_help() {
    let check = |name: &str, r: &TrialResult, seconds: usize, objective: &str, expected: bool| {
        let mut slice = r.total.clone();
        slice.outstanding.truncate(seconds * 10);
        let found =
            hopeless(&slice, r.rate, r.planned, &goal(objective), Share(0.02), None, GiveUpRule::Surely);
        assert_eq!(found, expected, "{name} after {seconds} s, {objective}");
    };
    check("calm", &calm(), 9, "zero-drop", false);
    check("one bad request", &with(Outcome::Failed, 1), 9, "zero-drop", false);
    check("5 % bad", &with(Outcome::Failed, 501), 1, "zero-drop", true);
    check("5 % bad", &with(Outcome::Failed, 501), 1, "loss<1%", false);
    check("10 % bad", &with(Outcome::Failed, 1001), 1, "loss<1%", true);
    check("grows", &growing(20.0), 2, "zero-drop", false);
    check("grows", &growing(20.0), 3, "zero-drop", true);
    check("grows", &growing(20.0), 9, "loss<5%", false);
    check("grows", &growing(80.0), 9, "loss<5%", true);
    check("grows a little", &growing(4.0), 9, "zero-drop", false);
}

#[test]
fn an_overloaded_target_shows_what_it_keeps_up() {
    let kept = |r: &TrialResult| sustained_rate(r, None).expect("something was answered").rate;
    assert!((kept(&growing(200.0)) - 800.0).abs() < 1e-6);
    assert!((kept(&with(Outcome::Failed, 3_000)) - 700.0).abs() < 1e-6);
    assert_eq!(sustained_rate(&with(Outcome::Failed, 10_000), None), None);
}

/// Once reported of a target that answers everything after eight seconds, that it fails at 20/s: before the first could be answered, the
/// in-flight count grew by the rate, which was read as a queue.
#[test]
fn what_is_under_way_before_the_first_can_be_answered_is_no_queue() {
    const RATE: f64 = 1000.0;
    let (second, zero_drop) = (Nanos::from_secs(1), Objective::ZERO_DROP);
    // What was seen after so many seconds, given what is outstanding so long after the start, and the fastest answer.
    let seen = |held: &dyn Fn(f64) -> f64, fastest: Option<f64>, seconds: usize| {
        let outstanding = (0..seconds * 10).map(|i| RATE * held((i as f64 + 0.5) / 10.0)).collect();
        let mut total = Slice { due: seconds as u64 * 1000, outstanding, ..Slice::default() };
        fastest.into_iter().for_each(|f| total.response.record(Nanos::from_secs_f64(f)));
        total
    };
    let ends_at = |held: &dyn Fn(f64) -> f64, fastest: f64, calm: Option<f64>| {
        let calm = calm.map(Nanos::from_secs_f64);
        (1..=20).find(|seconds| {
            let answered = (*seconds as f64 > fastest).then_some(fastest);
            let so_far = seen(held, answered, *seconds);
            hopeless(&so_far, Rate(RATE), second * 20, &zero_drop, Share(0.02), calm, GiveUpRule::Surely)
        })
    };
    let delay = |seconds: f64| move |t: f64| t.min(seconds);
    for calm in [None, Some(8.0)] {
        assert_eq!(ends_at(&delay(8.0), 8.0, calm), None, "calm: {calm:?}");
        assert_eq!(ends_at(&|t| t, 100.0, calm).is_some(), calm.is_some(), "nothing comes: {calm:?}");
    }
    // An eighth too much for a target that takes two seconds: seen once those are over.
    let overload = |t: f64| if t < 2.0 { t } else { 2.0 + (t - 2.0) / 8.0 };
    for calm in [None, Some(2.0)] {
        assert!(ends_at(&overload, 2.0, calm).is_some_and(|seconds| (3..=7).contains(&seconds)), "{calm:?}");
    }
    // A quick target is given up at the earliest, and so is one that suddenly goes silent.
    assert_eq!(ends_at(&|t| t / 8.0, 0.001, Some(0.001)), Some(3));
    assert_eq!(ends_at(&|t| t, 100.0, Some(0.001)), Some(3));
    // Answers that take two seconds on average, some next to nothing: the slope ends where nobody waits longer.
    let random = |t: f64| 2.0 * (1.0 - (-t / 2.0).exp());
    assert_eq!(ends_at(&random, 0.001, Some(2.0)), None);
    let whole = |held: &dyn Fn(f64) -> f64, mean: f64| {
        let total = seen(held, Some(0.001), 10);
        let result = TrialResult { total, ..calm() };
        judge(&result, &zero_drop, Share(0.02), Some(Nanos::from_secs_f64(mean))).growth_per_second
    };
    assert_eq!(whole(&random, 2.0), None);
    assert!(whole(&|t| random(t) + t / 50.0, 1.0).is_some(), "and more than that is a queue");
}

/// While users reach their later steps the load rises, and with it the number outstanding: that is no growing queue.
#[test]
fn a_load_that_rises_is_not_asked_whether_its_queue_grows() {
    let outstanding: Vec<f64> = (0..40).map(f64::from).collect();
    let total = Slice { due: 7, outstanding, ..Slice::default() };
    assert!(matches!(settled_slice(&total, Nanos::ZERO), std::borrow::Cow::Borrowed(_)));
    let after = settled_slice(&total, Nanos::from_millis(1_950));
    assert_eq!((after.due, after.outstanding.len(), after.outstanding[0]), (7, 20, 20.0));
    assert!(settled_slice(&total, Nanos::from_secs(60)).outstanding.is_empty());
}

/// Frozen from the fifth second to the sixth, and otherwise `by` per second too slow.
fn frozen(by: f64, freed: u64) -> TrialResult {
    let mut r = growing(by);
    for (place, outstanding) in r.total.outstanding.iter_mut().enumerate() {
        *outstanding += ((place as f64 + 0.5) / 10.0 - 5.0).clamp(0.0, 1.0) * 1000.0;
    }
    let [from, to] = [5, 6].map(Nanos::from_secs);
    r.total.silences.push(Silence { from, to, waiting: 1005, freed: Some(freed) });
    r.total.loops = 1;
    r
}

#[test]
fn what_gathers_in_a_freeze_is_no_overload() {
    let judged = |by, freed| judge(&frozen(by, freed), &goal("zero-drop"), Share(0.02), None);
    let kept = |by, freed| sustained_rate(&frozen(by, freed), None).expect("it answered").rate;
    assert!(judged(0.0, 500).good && (kept(0.0, 500) - 1000.0).abs() < 1.0);
    // A small overload is seen and measured nevertheless.
    let growth = judged(20.0, 500).growth_per_second.expect("its queue grows");
    assert!((growth - 20.0).abs() < 0.5, "{growth}");
    assert!((kept(20.0, 500) - 980.0).abs() < 1.0, "{}", kept(20.0, 500));
    // Nobody was answered soon after: a lull, no freeze, and a lull hides a small overload.
    assert_eq!(judged(20.0, 10).growth_per_second, None);
}

/// Redis answers all that waits in a connection at once: over its limit a queue of ever larger batches grew, and each silence excused
/// what had gathered in the longest. It was said to hold 253 a second, of 220.
#[test]
fn a_queue_that_grows_before_a_freeze_is_overload() {
    let mut r = frozen(33.0, 500);
    for (place, outstanding) in r.total.outstanding.iter_mut().enumerate().filter(|(place, _)| *place >= 60) {
        *outstanding += 60.0 * (place % 8) as f64 - 33.0 * (place as f64 - 60.0) / 10.0;
    }
    let judged = judge(&r, &goal("zero-drop"), Share(0.02), None);
    assert!(judged.growth_per_second.is_some_and(|growth| (growth - 33.0).abs() < 1.0), "{judged:?}");
}

/// Requests unsent because a worker was lost once read as a generator that needs more cores, and a good trial stayed good.
#[test]
fn a_trial_that_lost_a_worker_says_nothing() {
    for result in [calm(), with(Outcome::Unsent, 900), with(Outcome::Timeout, 900), growing(20.0)] {
        let caveats = vec![CaveatKind::WorkerLost.into(), CaveatKind::GeneratorBusy.into()];
        let judged = judge(&TrialResult { caveats, ..result }, &goal("zero-drop"), Share(0.02), None);
        assert_eq!(judged.invalid, [Caveat::from(CaveatKind::WorkerLost)]);
    }
}

#[test]
fn of_a_fleet_the_latest_is_asked() {
    let late = |us| MemberFigures {
        due: 2500,
        pacing_p99: Some(Nanos::from_micros(us)),
        ..MemberFigures::default()
    };
    let judged = |members: Vec<MemberFigures>| {
        let members = (0..).zip(members).map(|(member, worked)| MemberFigures { member, ..worked }).collect();
        let result = TrialResult { members, ..calm() };
        judge(&result, &goal("p95<50ms"), Share(0.02), None).invalid
    };
    assert_eq!(judged(vec![late(100), late(200)]), []);
    let grounds = Box::new(CaveatDetails::Late { p99: Nanos::from_millis(9), most: Nanos::from_millis(5) });
    let expected = Caveat::with_details(
        CaveatKind::GeneratorLate,
        CaveatDetails::OfMember { member: 1, place: String::new(), grounds },
    );
    assert_eq!(judged(vec![late(100), late(9_000), late(6_000)]), vec![expected.clone()]);
    // With a clock known to a millisecond it may have been that late.
    let clock = |us| MemberFigures { clock: Nanos::from_millis(1), ..late(us) };
    assert_eq!(judged(vec![late(100), clock(8_000)]), [expected]);
    assert_eq!(judged(vec![late(100), MemberFigures { due: 100, ..late(9_000) }]), [], "it sent few");
}

/// RabbitMQ's management was "good" at 685/s with 583 of 1,370 requests unanswered at the end: one slow stretch hid that the queue grew.
#[test]
fn a_queue_that_grows_in_leaps_is_no_good() {
    let judged = |outstanding: [f64; 20]| {
        let mut result = calm();
        (result.rate, result.loaded) = (Rate(685.0), Nanos::from_secs(2));
        (result.total.due, result.total.sent) = (1_370, 1_370);
        result.total.outstanding = outstanding.into();
        judge(&result, &goal("zero-drop"), Share(0.02), Some(Nanos::from_micros(2_500)))
    };
    let leaps = [
        23., 86., 148., 214., 277., 322., 336., 313., 275., 255., 275., 306., 335., 377., 426., 465., 505.,
        567., 596., 593.,
    ];
    let grows = judged(leaps);
    assert!(
        !grows.good && grows.growth_per_second.is_some_and(|by| (285.0..300.0).contains(&by)),
        "{grows:?}"
    );
    let mut level = [500.0; 20];
    level[..4].copy_from_slice(&[100.0, 200.0, 300.0, 400.0]);
    assert!(judged(level).good, "a long queue may be level");
}
