//! Waits of the built-in service's threads.

use crate::case::CaseCapacity::{Known, PerCpu};
use crate::case::{CaseLoad, FaultCase};
use record::Cause;

pub(super) fn cases() -> Vec<FaultCase> {
    vec![
        FaultCase::new("workers", "50 workers call a service that takes 100 ms")
            .target_options(&["--workers", "50"])
            .load("/fault/call?to={downstream}&path=/delay?ms=100", CaseLoad::around(Known(500.0)))
            .downstream(&["--model", "async"])
            .expect(Cause::Workers, &[Cause::Downstream])
            .because(
                "each of the 50 waits for an answer of its own, and the other service answers any \
                 number of requests in 100 ms: 50 / 0.1 s = 500/s, and more workers would give more",
            ),
        FaultCase::new(
            "downstream",
            "a service without a limit of its own calls one that takes 10 requests at a time, 20 \
             ms each",
        )
        .target_options(&["--model", "threads"])
        .load("/fault/call?to={downstream}&path=/pool?size=10&ms=20", CaseLoad::around(Known(500.0)))
        .downstream(&["--model", "async"])
        .expect(Cause::Downstream, &[Cause::Workers])
        .because("there is a thread for each request, and they all wait for the same other service"),
        FaultCase::new("permits", "200 workers share 10 permits, each held for 50 ms")
            .target_options(&["--workers", "200"])
            .load("/fault/permit?size=10&us=50000", CaseLoad::around(Known(200.0)))
            .expect(Cause::Pool, &[])
            .because("10 / 50 ms = 200/s; the others wait with a deadline of 30 s"),
        FaultCase::new("lock", "200 workers share one lock, held for 5 ms")
            .target_options(&["--workers", "200"])
            .load("/fault/lock?us=5000", CaseLoad::around(Known(195.0)))
            .expect(Cause::Lock, &[])
            .because("1 / 5 ms = 200/s; one sleeps, the others wait without a deadline"),
        FaultCase::new("accept-queue", "4 serial workers, of 10 ms each, behind a queue of one connection")
            .target_options(&["--model", "serial", "--workers", "4", "--backlog", "1"])
            .load(
                "/delay?ms=10",
                CaseLoad {
                    overload: 0.75,
                    base_load: 0.05,
                    poisson: true,
                    close_connections: true,
                    ..CaseLoad::around(Known(400.0))
                },
            )
            .expect(Cause::AcceptQueue, &[Cause::Workers])
            .because(
                "on average 3 of 4 workers are busy, so they suffice; but arrivals at random find \
                 all of them busy and the queue full, and come back after a second",
            ),
        FaultCase::new("serial-workers", "4 serial workers, of 20 ms each")
            .target_options(&["--model", "serial", "--workers", "4", "--backlog", "64"])
            .load(
                "/fault/call?to={downstream}&path=/delay?ms=20",
                CaseLoad { close_connections: true, ..CaseLoad::around(Known(190.0)) },
            )
            .downstream(&["--model", "async"])
            .expect(Cause::Workers, &[Cause::AcceptQueue, Cause::Downstream])
            .because("4 / 20 ms = 200/s; a longer queue would only let clients wait longer"),
        FaultCase::new("healthy-async", "nothing: an event loop well within its limits")
            .target_options(&["--model", "async"])
            .load(
                "/delay?ms=5",
                CaseLoad { base_load: 0.5, overload: 0.8, ..CaseLoad::around(Known(500.0)) },
            ),
        FaultCase::new("healthy-pool", "nothing: workers well within their limits")
            .target_options(&["--workers", "200"])
            .load(
                "/fault/permit?size=50&us=5000",
                CaseLoad { base_load: 0.2, overload: 0.4, ..CaseLoad::around(Known(1_000.0)) },
            )
            .and_page("/fault/cpu?us=200"),
        FaultCase::new("healthy-half-cpu", "nothing: a third of the processors is used")
            .target_options(&["--workers", "20"])
            .load(
                "/fault/cpu?us=2000",
                CaseLoad { base_load: 0.1, overload: 0.3, ..CaseLoad::around(PerCpu(500.0)) },
            ),
    ]
}
