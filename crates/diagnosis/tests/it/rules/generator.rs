//! Whether torment was the limit.

use crate::builders::*;
use record::watch::{PostgresServer, ThreadWait, WatchCoverage, WatchedProcesses, Window};
use record::{Cause, Caveat, CaveatKind, ExhaustedResource, Failure};

#[test]
fn the_generator_is_suspected_first() {
    let quiet = second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 200.0)])]);
    let mut bad = load(9000.0, 8000.0, 400.0, 30, quiet.clone());
    bad.invalid = vec![Caveat::new(CaveatKind::GeneratorLate, "the generator itself was 30 ms late at p99")];
    let diagnosis = judge(watched(), vec![load(100.0, 100.0, 1.0, 1, quiet), bad]);
    expect(&diagnosis, Cause::Generator);
}

/// A hiccup of the generator far above a found limit is no verdict.
#[test]
fn a_generator_that_is_late_beyond_the_limit_is_not_the_limit() {
    let mut late = load(500.0, 190.0, 390.0, 1900, pool_of_ten());
    late.invalid = vec![Caveat::new(CaveatKind::GeneratorLate, "the generator itself was 30 ms late at p99")];
    let bad = load(300.0, 190.0, 390.0, 1900, pool_of_ten());
    expect(&judge(watched(), vec![calm(), late, bad]), Cause::Pool);
}

/// Nor is one below a held rate, nor one between the bounds of a limit that holds.
#[test]
fn a_generator_that_is_late_for_once_is_not_the_limit() {
    for rate in [50.0, 150.0] {
        let mut late = load(rate, 40.0, 390.0, 1900, pool_of_ten());
        late.invalid =
            vec![Caveat::new(CaveatKind::GeneratorLate, "the generator itself was 30 ms late at p99")];
        let held = load(160.0, 160.0, 10.0, 5, pool_of_ten());
        let bad = load(190.0, 160.0, 390.0, 1900, pool_of_ten());
        let diagnosis = judge(watched(), vec![calm(), held, late, bad]);
        assert!(
            diagnosis.findings.iter().all(|found| found.cause != Cause::Generator),
            "{rate}: {diagnosis:#?}"
        );
    }
}

/// "1 connections could not be made" was reported of thousands of arrivals, because void trials were counted; and our own "too many open
/// files" was taken for the message of a full PostgreSQL.
#[test]
fn what_torment_lacks_is_its_own_and_counted_in_arrivals() {
    let about = || WatchCoverage {
        postgres: Some(PostgresServer {
            settings: vec![("max_connections".to_owned(), "20".to_owned())],
            ..PostgresServer::default()
        }),
        ..watched()
    };
    for (lack, cause, count, words) in [
        (ExhaustedResource::Port, Cause::Ports, 700, "3,500 arrivals failed for lack of a local port"),
        (ExhaustedResource::Descriptor, Cause::OwnDescriptors, 20, "100 arrivals failed for lack of a"),
        (ExhaustedResource::Watch, Cause::OwnDescriptors, 20, "100 arrivals failed for lack of a watch of"),
        (ExhaustedResource::Memory, Cause::OwnDescriptors, 20, "lack of a kernel socket buffer"),
    ] {
        let mut void = load(900.0, 150.0, 30.0, 10, calm().window);
        void.failures = vec![(Failure::Lacking(lack), count)];
        void.invalid = vec![Caveat::new(lack.into(), "as the runner says it")];
        let diagnosis = judge(about(), vec![calm(), void]);
        expect(&diagnosis, cause);
        assert!(diagnosis.sentences[0].contains(words), "{:?}", diagnosis.sentences);
        assert!(diagnosis.findings.iter().all(|finding| finding.cause != Cause::PostgresConnections));
    }
}

/// "torment, not the target, high confidence" stood above a section that showed the target's only event loop busy all the time.
#[test]
fn a_target_that_is_full_as_well_is_told_and_makes_it_less_sure() {
    let of = |used: f64, ready: f64| {
        second(vec![workers(used, ready, &[(ThreadWait::Events, 1.0 - used), (ThreadWait::Running, used)])])
    };
    let late = |window: Window| {
        let mut bad = load(9000.0, 8000.0, 400.0, 30, window);
        bad.invalid =
            vec![Caveat::new(CaveatKind::GeneratorLate, "the generator itself was 30 ms late at p99")];
        let about = WatchCoverage {
            subjects: vec![WatchedProcesses {
                name: "nginx".to_owned(),
                cpus: CPUS,
                ..WatchedProcesses::default()
            }],
            ..watched()
        };
        judge(about, vec![load(100.0, 100.0, 1.0, 1, of(0.02, 0.0)), bad])
    };
    let full = late(of(0.98, 0.02));
    expect(&full, Cause::Generator);
    assert_eq!(full.also_saturated().map(|finding| finding.cause), Some(Cause::Cpu), "{full:#?}");
    assert!(
        full.sentences
            .iter()
            .any(|said| said.starts_with("The target was nearly saturated, too: All requests pass"))
    );
    let idle = late(of(0.3, 0.0));
    assert_eq!(idle.also_saturated(), None, "{idle:#?}");
    let sure = |found: &record::Diagnosis| found.findings[0].confidence.value();
    assert!(sure(&full) < sure(&idle));
}
