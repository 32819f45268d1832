//! What the machine's state may do to a launcher.

use super::*;
use crate::program::ProgramCommand;
use crate::{ExpectedStatuses, Setup};
use engine::{LoadCommand, OfferedLoad, ReportCollector};
use schedule::Schedule;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use sys::task::PreparedProgram;
use units::Rate;

/// When the kernel lacked resources to watch a process, the launcher panicked, and took the whole storm with
/// it. Here the epoll is invalid, so every registration fails.
#[test]
fn a_process_that_cannot_be_listened_to_is_a_failure_of_ours() {
    let command = ProgramCommand::find(&[OsString::from("/bin/sleep"), OsString::from("60")], None)
        .expect("everyone has it");
    let program = PreparedProgram::new(&command.path, ["60"], std::env::vars_os());
    let program = program.expect("it can be executed");
    let setup = Setup {
        program,
        expected: ExpectedStatuses::parse("0").expect("a status"),
        timeout: Nanos::from_secs(60),
    };
    let load = OfferedLoad::Open(Schedule::constant(Rate(100.0), Nanos::from_millis(50)));
    let task = LauncherTask {
        index: 0,
        trial: 1,
        max_children: 4,
        max_outstanding: 100,
        source: ArrivalSource::new(&load, 0, 1, &Arc::default()),
        run_ns: 0,
        load_ends: Nanos::from_millis(50),
        drain: Nanos::from_secs(1),
        deadline: None,
        first_number: 0,
        log: None,
    };
    let (mut reporters, mut collector) = ReportCollector::channel(1);
    let reporter = reporters.pop().expect("there is one");
    let control = Arc::new(LauncherControl::default());
    let mut launcher =
        Launcher::new(Arc::new(setup), Arc::clone(&control), task, reporter).expect("there is an epoll");
    let null = File::options().read(true).write(true).open("/dev/null").expect("everyone has it");
    launcher.epoll = null.as_fd().try_clone_to_owned().expect("a descriptor is left");
    let start_ns = sys::monotonic_ns();
    launcher.run(start_ns);
    let (mut faults, mut ended) = (0, None);
    let mut handle_report = |report| match report {
        LauncherReport::Fault(why) => {
            assert_eq!(why.raw_os_error(), Some(rustix::io::Errno::INVAL.raw_os_error()));
            faults += 1;
        }
        LauncherReport::Counts(counts) => ended = Some(counts.ended),
    };
    let counted = collector.collect_trial(
        start_ns,
        &mut |_| {},
        &mut |_, _| LoadCommand::Continue,
        |_, _| panic!("nothing is wished"),
        &mut handle_report,
    );
    collector
        .settle(Nanos::from_secs(1), &|| false, || {}, || panic!("nothing is left"), &mut handle_report)
        .expect("nothing runs");
    let (sent, failed) = (counted.total.sent, counted.total.outcomes.failed);
    assert!(
        sent == 0 && failed >= 1 && failed == faults && ended == Some(0),
        "{sent} {failed} {faults} {ended:?}"
    );
    assert_eq!((control.alive.load(Ordering::Relaxed), control.started.load(Ordering::Relaxed)), (0, 0));
}
