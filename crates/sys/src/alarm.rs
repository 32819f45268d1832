use std::time::Duration;

/// Ends this process by SIGALRM (alarm(2)) unless dropped in time: the last resort where two sides wait for
/// each other in the kernel. There is one per process: a second replaces the first. Children do not inherit it.
#[derive(Debug)]
pub struct Alarm(());

impl Alarm {
    /// Ends the process after `limit`, rounded up to seconds.
    pub fn within(limit: Duration) -> Self {
        let seconds = u32::try_from(limit.as_nanos().div_ceil(1_000_000_000)).unwrap_or(u32::MAX);
        set(seconds.max(1));
        Self(())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        set(0);
    }
}

/// 0: never.
fn set(seconds: u32) {
    // SAFETY: the call takes only a number; it results in a signal, for which this crate sets no handler.
    unsafe { libc::alarm(seconds) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ForkedChild;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    /// Set when this test is run again in a process of its own, to be ended there.
    const CHILD_VARIABLE: &str = "TORMENT_TEST_ALARM";

    #[test]
    fn it_ends_who_waits_for_ever() {
        if std::env::var_os(CHILD_VARIABLE).is_some() {
            drop(Alarm::within(Duration::from_millis(1)));
            std::thread::sleep(Duration::from_millis(1500));
            let _alarm = Alarm::within(Duration::from_secs(1));
            loop {
                std::thread::park();
            }
        }
        let executable = std::env::current_exe().expect("every Linux tells");
        let mut command = std::process::Command::new(executable);
        command
            .args(["alarm::tests::it_ends_who_waits_for_ever", "--exact"])
            .env(CHILD_VARIABLE, "1")
            .process_group(0);
        let began = std::time::Instant::now();
        let ended = command.output().expect("it was started once already");
        assert_eq!(ended.status.signal(), Some(libc::SIGALRM), "{ended:?}");
        assert!(began.elapsed() >= Duration::from_millis(1500), "the one that was dropped has ended it");
        // A process with several threads, as tests are, cannot fork a child.
        assert!(ForkedChild::start(|| true).is_err());
    }
}
