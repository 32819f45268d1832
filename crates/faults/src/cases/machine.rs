//! Faults of the machine and its limits.

use crate::case::CaseCapacity::{Known, PerCpu};
use crate::case::{CaseLoad, FaultCase, LocalPorts, NeighbourPlacement, ServiceLimits};
use record::Cause;

pub(super) fn cases() -> Vec<FaultCase> {
    vec![
        FaultCase::new("cpu", "each request computes for 4 ms")
            .target_options(&["--workers", "50"])
            .load("/fault/cpu?us=4000", CaseLoad::around(PerCpu(240.0)))
            .expect(Cause::Cpu, &[]),
        FaultCase::new("cpu-quota", "half a processor, each request computes for 5 ms")
            .target_options(&["--workers", "50"])
            .load("/fault/cpu?us=5000", CaseLoad::around(Known(100.0)))
            .limits(ServiceLimits { cpus: Some(0.5), ..ServiceLimits::default() })
            .expect(Cause::CpuQuota, &[Cause::Cpu])
            .because("0.5 s of processor a second / 5 ms = 100/s, while the machine's own are idle"),
        FaultCase::new("memory-limit", "a group of 96 MiB, each request keeps 256 KiB")
            .target_options(&["--workers", "20"])
            .load(
                "/fault/memory?kib=256",
                CaseLoad { base_load: 0.2, overload: 1.0, ..CaseLoad::around(Known(100.0)) },
            )
            .limits(ServiceLimits { memory_mib: Some(96), ..ServiceLimits::default() })
            .expect(Cause::MemoryLimit, &[])
            .because("3 s · 20/s keep 15 MiB; then 25 MiB more a second, and the kernel ends the service"),
        FaultCase::new("task-limit", "at most 60 threads, each request starts one that lives 500 ms")
            .target_options(&["--workers", "20"])
            .load("/fault/thread?ms=500", CaseLoad::around(Known(72.0)))
            .limits(ServiceLimits { tasks: Some(60), ..ServiceLimits::default() })
            .expect(Cause::TaskLimit, &[])
            .because("20 workers and 4 others leave 36 threads / 0.5 s = 72/s; then none can be started"),
        FaultCase::new("descriptors", "at most 400 descriptors, each request keeps one")
            .target_options(&["--workers", "20"])
            .load("/fault/open", CaseLoad { base_load: 0.2, overload: 1.0, ..CaseLoad::around(Known(100.0)) })
            .limits(ServiceLimits { descriptors: Some(400), ..ServiceLimits::default() })
            .expect(Cause::Descriptors, &[])
            .because("3 s · 20/s keep 60; then 100 more a second, and after 3 s there is none left"),
        FaultCase::new(
            "slow-disk",
            "a disk that takes 40 writes a second, each request appends and waits for it",
        )
        .target_options(&["--workers", "50"])
        .load("/fault/file?kib=4", CaseLoad::around(Known(20.0)))
        .limits(ServiceLimits { writes: Some(40), ..ServiceLimits::default() })
        .expect(Cause::Disk, &[Cause::Lock])
        .because("fsync of one file; nothing else is done"),
        FaultCase::new("neighbour", "8 threads of another program want the service's processor too")
            .target_options(&["--workers", "8"])
            .load(
                "/fault/cpu?us=2000",
                CaseLoad { base_load: 0.5, overload: 0.5, ..CaseLoad::around(Known(500.0)) },
            )
            .expect(Cause::Neighbour, &[Cause::Cpu])
            .because(
                "the rate never changes and takes half of one processor; then others come and take \
                 most of it",
            )
            .neighbour(NeighbourPlacement::WithService),
        FaultCase::new(
            "generator",
            "the load generator shares its processor with 8 threads that burn it and weigh more",
        )
        .target_options(&["--model", "async"])
        .load("/delay?ms=5", CaseLoad { base_load: 0.25, overload: 1.0, ..CaseLoad::around(Known(8_000.0)) })
        .expect(Cause::Generator, &[])
        .because("the service answers any number of requests in 5 ms, on a processor of its own")
        .neighbour(NeighbourPlacement::WithGenerator),
        FaultCase::new("ports", "an address with 400 local ports, 320 of which are held by others")
            .target_options(&["--model", "async"])
            .load("/delay?ms=500", CaseLoad::around(Known(160.0)))
            .expect(Cause::Ports, &[])
            .because("80 ports / 0.5 s = 160/s: the next connection finds none")
            .ports(LocalPorts { range: 400, held: 320 }),
    ]
}
