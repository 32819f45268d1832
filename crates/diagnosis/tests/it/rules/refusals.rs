//! Something said no.

use crate::hand::*;
use record::Cause;
use record::watch::{Cgroup, Listener, MemoryLimit, TaskLimit, Wait};

#[test]
fn refusals() {
    let quiet = || second(vec![workers(0.1, 0.1, &[(futex(Some(60)), 196.0), (Wait::Sleep, 4.0)])]);
    let mut full = quiet();
    full.subjects[0].listeners = vec![Listener { address: "127.0.0.1:80".to_owned(), queued: 6, backlog: 5 }];
    full.network = Some(record::watch::Network { listen_overflows: 56, ..Default::default() });
    let well = || load(40.0, 40.0, 2.0, 50, quiet());
    expect(&judge(watched(), vec![well(), load(100.0, 50.0, 90.0, 900, full)]), Cause::AcceptQueue);

    let mut limited = quiet();
    limited.subjects[0].cgroup = Some(Cgroup {
        tasks: Some(TaskLimit { group: "/app".to_owned(), used: 64, limit: 64, refused: Some(30) }),
        ..Cgroup::default()
    });
    expect(&judge(watched(), vec![well(), load(100.0, 50.0, 60.0, 900, limited)]), Cause::TaskLimit);

    let mut killed = quiet();
    killed.subjects[0].cgroup = Some(Cgroup {
        memory: Some(MemoryLimit {
            group: "/app".to_owned(),
            used_bytes: 100,
            limit_bytes: 100,
            failures: 5,
            kills: 1,
            ..MemoryLimit::default()
        }),
        ..Cgroup::default()
    });
    expect(&judge(watched(), vec![well(), load(100.0, 10.0, 60.0, 900, killed)]), Cause::MemoryLimit);

    let mut open = quiet();
    open.subjects[0].descriptors = Some(record::watch::Usage { used: 1024, limit: 1024 });
    expect(&judge(watched(), vec![well(), load(100.0, 10.0, 60.0, 900, open)]), Cause::Descriptors);
}
