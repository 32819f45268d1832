//! What the machine and its limits withhold.

use crate::cell::Ceiling::{Known, PerCpu};
use crate::cell::{Cell, Limits, Load, Neighbour, Ports};
use record::Cause;

pub(super) fn cells() -> Vec<Cell> {
    vec![
        Cell::new("cpu", "each request computes for 4 ms")
            .own(&["--workers", "50"])
            .load("/fault/cpu?us=4000", Load::around(PerCpu(240.0)))
            .expect(Cause::Cpu, &[]),
        Cell::new("cpu-quota", "half a processor, each request computes for 5 ms")
            .own(&["--workers", "50"])
            .load("/fault/cpu?us=5000", Load::around(Known(100.0)))
            .limits(Limits { cpus: Some(0.5), ..Limits::default() })
            .expect(Cause::CpuQuota, &[Cause::Cpu])
            .because("0.5 s of processor a second / 5 ms = 100/s, while the machine's own are idle"),
        Cell::new("memory-limit", "a group of 96 MiB, each request keeps 256 KiB")
            .own(&["--workers", "20"])
            .load("/fault/memory?kib=256", Load { calm: 0.2, over: 1.0, ..Load::around(Known(100.0)) })
            .limits(Limits { memory_mib: Some(96), ..Limits::default() })
            .expect(Cause::MemoryLimit, &[])
            .because("3 s · 20/s keep 15 MiB; then 25 MiB more a second, and the kernel ends the service"),
        Cell::new("task-limit", "at most 60 threads, each request starts one that lives 500 ms")
            .own(&["--workers", "20"])
            .load("/fault/thread?ms=500", Load::around(Known(72.0)))
            .limits(Limits { tasks: Some(60), ..Limits::default() })
            .expect(Cause::TaskLimit, &[])
            .because("20 workers and 4 others leave 36 threads / 0.5 s = 72/s; then none can be started"),
        Cell::new("descriptors", "at most 400 descriptors, each request keeps one")
            .own(&["--workers", "20"])
            .load("/fault/open", Load { calm: 0.2, over: 1.0, ..Load::around(Known(100.0)) })
            .limits(Limits { descriptors: Some(400), ..Limits::default() })
            .expect(Cause::Descriptors, &[])
            .because("3 s · 20/s keep 60; then 100 more a second, and after 3 s there is none left"),
        Cell::new("slow-disk", "a disk that takes 40 writes a second, each request appends and waits for it")
            .own(&["--workers", "50"])
            .load("/fault/file?kib=4", Load::around(Known(20.0)))
            .limits(Limits { writes: Some(40), ..Limits::default() })
            .expect(Cause::Disk, &[Cause::Lock])
            .because("fsync of one file; nothing else is done"),
        Cell::new("neighbour", "8 threads of another program want the service's processor too")
            .own(&["--workers", "8"])
            .load("/fault/cpu?us=2000", Load { calm: 0.5, over: 0.5, ..Load::around(Known(500.0)) })
            .expect(Cause::Neighbour, &[Cause::Cpu])
            .because(
                "the rate never changes and takes half of one processor; then others come and take \
                 most of it",
            )
            .neighbour(Neighbour::OfService),
        Cell::new(
            "generator",
            "the load generator shares its processor with 8 threads that burn it and weigh more",
        )
        .own(&["--model", "async"])
        .load("/delay?ms=5", Load { calm: 0.25, over: 1.0, ..Load::around(Known(8_000.0)) })
        .expect(Cause::Generator, &[])
        .because("the service answers any number of requests in 5 ms, on a processor of its own")
        .neighbour(Neighbour::OfGenerator),
        Cell::new("ports", "an address with 400 local ports, 320 of which are held by others")
            .own(&["--model", "async"])
            .load("/delay?ms=500", Load::around(Known(160.0)))
            .expect(Cause::Ports, &[])
            .because("80 ports / 0.5 s = 160/s: the next connection finds none")
            .ports(Ports { range: 400, held: 320 }),
    ]
}
