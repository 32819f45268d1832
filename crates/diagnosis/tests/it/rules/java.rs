//! The Java virtual machine itself.

use crate::builders::*;
use record::watch::{Jvm, ThreadGroup, ThreadWait};
use record::{Cause, Purpose};

/// WildFly failed at 320/s before it was warm, and was then compared with itself at 62/s, nine times as dear a request.
#[test]
fn a_warm_target_is_compared_with_itself_warm() {
    let threads =
        |on_cpu: f64, ready: f64| second(vec![workers(on_cpu, ready, &[(ThreadWait::Running, 20.0)])]);
    let cold = |rate: f64, good: bool| {
        let (answered, outstanding) = if good { (rate, 1.0) } else { (rate / 2.0, 150.0) };
        Load { purpose: Purpose::Climb, ..load(rate, answered, outstanding, 20, threads(rate / 170.0, 1.0)) }
    };
    let warm_up = Load { purpose: Purpose::WarmUp, ..load(1_400.0, 1_400.0, 3.0, 2, threads(1.9, 5.0)) };
    let warm = [
        load(690.0, 690.0, 1.0, 1, threads(0.9, 0.2)),
        load(1_600.0, 1_400.0, 900.0, 600, threads(1.95, 6.7)),
    ];
    let loads = [cold(160.0, true), cold(320.0, false), warm_up.clone()].into_iter().chain(warm);
    let loads: Vec<Load> = loads.collect();
    let well_at = |loads: Vec<Load>| {
        let found = judge(watched(), loads);
        expect(&found, Cause::Cpu);
        found.well_at.map(|rate| rate.0.round())
    };
    assert_eq!(well_at(loads.clone()), Some(690.0));
    // etcd: a second warm-up showed nothing new, so the trials before it count again; after it only the curve was well.
    let curve = Load { purpose: Purpose::Curve, ..load(150.0, 150.0, 0.3, 1, threads(0.3, 0.1)) };
    let again = [warm_up, load(1_500.0, 1_400.0, 500.0, 400, threads(1.95, 6.7)), curve];
    assert_eq!(well_at([loads, again.to_vec()].concat()), Some(420.0));
}

#[test]
fn the_virtual_machine() {
    let compilers = |on: f64| ThreadGroup {
        name: "C2 CompilerThre".to_owned(),
        threads: 1.0,
        on_cpu_ns: ns(on),
        run_delay_ns: ns(0.1),
        switches: 0,
        states: vec![],
        full: None,
    };
    let well = || {
        load(
            100.0,
            100.0,
            1.0,
            10,
            second(vec![workers(0.2, 0.1, &[(futex(Some(60)), 199.0), (ThreadWait::Running, 1.0)])]),
        )
    };
    let mut collecting = second(vec![workers(
        0.62,
        2.9,
        &[(futex(None), 33.0), (futex(Some(60)), 11.0), (ThreadWait::Running, 6.0)],
    )]);
    collecting.subjects[0].jvm =
        Some(Jvm { pauses: 50, pause_ns: ns(0.3), heap_max_bytes: 1 << 28, ..Jvm::default() });
    expect(&judge(watched(), vec![well(), load(900.0, 500.0, 200.0, 300, collecting)]), Cause::Gc);

    // Keycloak used all of its processors, the collector a fifth of that: a request costs what it costs.
    let mut busy = second(vec![workers(1.9, 38.0, &[(ThreadWait::Running, 40.0)])]);
    busy.subjects[0].jvm = Some(Jvm {
        pauses: 50,
        pause_ns: ns(0.19),
        collector_cpu_ns: Some(ns(0.38)),
        heap_max_bytes: 1 << 28,
        ..Jvm::default()
    });
    let found = judge(watched(), vec![well(), load(900.0, 500.0, 200.0, 300, busy)]);
    expect(&found, Cause::Cpu);
    let collector = found.findings.iter().find(|finding| finding.cause == Cause::Gc);
    assert_eq!(collector.expect("it takes 19 % of the time").follows_from, Some(Cause::Cpu));

    let mut cold = second(vec![
        workers(0.8, 10.0, &[(ThreadWait::Running, 12.0), (futex(Some(60)), 180.0)]),
        compilers(0.9),
    ]);
    cold.subjects[0].jvm = Some(Jvm { compiles: 900, classes: 200, ..Jvm::default() });
    expect(&judge(watched(), vec![load(300.0, 150.0, 200.0, 300, cold)]), Cause::ColdJit);
}
