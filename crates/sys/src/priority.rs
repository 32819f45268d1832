use std::io;

/// Lets the calling thread run before all that are not real-time ones (sched(7), `SCHED_FIFO` at its lowest
/// priority), until it sleeps. What it starts from now on does not. It takes `CAP_SYS_NICE` or an `RLIMIT_RTPRIO`.
///
/// A thread that does not sleep then keeps others from its processor: the caller has to see to it that it does.
pub fn real_time() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the call reads one structure, which outlives it, and changes nothing but how this thread is scheduled.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_and_not_those_it_starts() {
        let thread = std::thread::spawn(|| {
            let policy = || {
                let text = std::fs::read_to_string("/proc/thread-self/stat").expect("it is our own");
                let rest = text.rsplit_once(')').expect("a name stands in brackets").1.to_owned();
                rest.split_whitespace().nth(38).map(str::to_owned)
            };
            match real_time() {
                Ok(()) => {
                    assert_eq!(policy().as_deref(), Some("1"));
                    let other = std::thread::spawn(policy).join().expect("it does not panic");
                    assert_eq!(other.as_deref(), Some("0"));
                }
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
            }
        });
        thread.join().expect("it does not panic");
    }
}
