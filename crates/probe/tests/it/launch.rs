//! Launches and the demonstration of CLONE_VM, by real prober processes.

use std::path::PathBuf;
use torment_probe::launch::{LaunchMethod, LaunchProbe, StartedProgram};
use torment_probe::{AnyProbe, CloneVmDemo, Prober, demonstrate_clone_vm};

const MIB: u64 = 1 << 20;

fn own() -> PathBuf {
    std::env::current_exe().expect("every Linux tells")
}

/// Median over blocks of one method from a prober of this size: launch, and launch and join.
fn measured(method: LaunchMethod, mib: u64) -> [f64; 2] {
    let what = AnyProbe::Launch(LaunchProbe::new(method, mib * MIB));
    let mut worker = Prober::start(&own(), what.prober_kind()).expect("there is room for a process");
    let mut blocks: Vec<Vec<f64>> = (0..7)
        .map(|_| worker.measure_block(&what, 60).expect("it is well").expect("it can be measured").values)
        .collect();
    [0, 1].map(|at| {
        blocks.sort_by(|a, b| a[at].total_cmp(&b[at]));
        blocks[3][at]
    })
}

/// Ratios far beyond the noise of a busy machine: some twenty for fork, one for the others.
pub fn what_a_fork_copies_is_paid_for() {
    for method in [LaunchMethod::Fork, LaunchMethod::Clone] {
        let ([small, small_round], [large, large_round]) = (measured(method, 0), measured(method, 64));
        assert!(large > 3.0 * small && large_round > 3.0 * small_round, "{method:?}: {small} and {large} ns");
    }
    let fork = measured(LaunchMethod::Fork, 64);
    for method in
        [LaunchMethod::Vfork, LaunchMethod::CloneSpawn(StartedProgram::Minimal), LaunchMethod::Thread]
    {
        let shared = measured(method, 64);
        assert!(shared[1] * 2.0 < fork[1], "{method:?}: {shared:?} ns, and a fork {fork:?}");
    }
}

pub fn a_worker_of_64_mib_has_them() {
    let itself = AnyProbe::Launch(LaunchProbe::new(LaunchMethod::Itself, 0));
    let pages = |mib: u64| {
        let home = AnyProbe::Launch(LaunchProbe::new(LaunchMethod::Fork, mib * MIB)).prober_kind();
        let mut worker = Prober::start(&own(), home).expect("there is room for a process");
        worker.measure_block(&itself, 1).expect("it is well").expect("it can be read").values[0]
    };
    let more = pages(64) - pages(0);
    assert!((more - 16_384.0).abs() < 200.0, "{more} pages more");
}

pub fn only_shared_memory_shows_what_a_child_wrote() {
    let shown = demonstrate_clone_vm(&own()).expect("clone3 is to be had");
    let [copied, shared] = shown.as_slice() else { panic!("{shown:?}") };
    assert_eq!(
        *copied,
        CloneVmDemo { flags: &["CLONE_VFORK"], parent_value: copied.before, ..shared.clone() }
    );
    assert!(shared.flags.contains(&"CLONE_VM") && shared.is_shared() && !copied.is_shared());
    assert_eq!((shared.before, shared.written, shared.child_value, shared.parent_value), (1, 42, 42, 42));
}
