//! A fixed number of sessions, shared as by HikariCP: callers wait for one, up to a
//! limit.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use super::{DatabaseError, DatabaseFault, Session};

/// HikariCP's `connectionTimeout`: after waiting this long for a session, a request is answered 503.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(30);

pub(crate) struct SessionPool {
    idle: Mutex<Vec<Box<dyn Session>>>,
    returned: Condvar,
    size: usize,
    run_unpooled: Option<RunUnpooled>,
}

/// Runs a fault in a session of its own, outside the pool.
pub(super) type RunUnpooled = Box<dyn Fn(&DatabaseFault) -> Result<(), DatabaseError> + Send + Sync>;

/// No session came free in time.
#[derive(Debug)]
pub(crate) struct PoolTimeout;

impl SessionPool {
    pub(crate) fn new(sessions: Vec<Box<dyn Session>>) -> Self {
        Self {
            size: sessions.len(),
            idle: Mutex::new(sessions),
            returned: Condvar::new(),
            run_unpooled: None,
        }
    }

    /// Permits sessions outside the pool, too.
    pub(super) fn with_unpooled(self, run_unpooled: RunUnpooled) -> Self {
        Self { run_unpooled: Some(run_unpooled), ..self }
    }

    /// Runs a fault: in a session of the pool or, if it is about connecting, as a program without a pool would.
    pub(crate) fn run_fault(&self, fault: &DatabaseFault) -> Result<Result<(), DatabaseError>, PoolTimeout> {
        match (fault, &self.run_unpooled) {
            (DatabaseFault::Connect { .. }, Some(run_unpooled)) => Ok(run_unpooled(fault)),
            // Without sessions outside it, the pool's returns the error.
            _ => self.with_session(Instant::now() + WAIT_LIMIT, |session| session.run_fault(fault)),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Lends a session to `work`, waiting for one at most until `deadline`.
    pub(crate) fn with_session<R>(
        &self,
        deadline: Instant,
        work: impl FnOnce(&mut dyn Session) -> R,
    ) -> Result<R, PoolTimeout> {
        let idle = self.idle.lock().expect("nothing panics while the list is locked");
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.returned.wait_timeout_while(idle, left, |idle| idle.is_empty());
        let (mut idle, _) = waited.expect("nothing panics while the list is locked");
        let session = idle.pop().ok_or(PoolTimeout)?;
        drop(idle);
        let mut lent = BorrowedSession { pool: self, session: Some(session) };
        Ok(work(lent.session.as_deref_mut().expect("taken back only on drop")))
    }
}

/// Returns a session even when `work` panics: a shrinking pool would be a false finding.
struct BorrowedSession<'a> {
    pool: &'a SessionPool,
    session: Option<Box<dyn Session>>,
}

impl Drop for BorrowedSession<'_> {
    fn drop(&mut self) {
        if let (Some(session), Ok(mut idle)) = (self.session.take(), self.pool.idle.lock()) {
            idle.push(session);
            drop(idle);
            self.pool.returned.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Fortune, Owner, OwnerFields};

    struct Nothing;
    impl Session for Nothing {
        fn owner(&mut self, _: i32) -> Result<Option<Owner>, DatabaseError> {
            Ok(None)
        }
        fn insert_owner(&mut self, _: &OwnerFields) -> Result<i64, DatabaseError> {
            Ok(1)
        }
        fn count_owners(&mut self) -> Result<i64, DatabaseError> {
            Ok(0)
        }
        fn fortunes(&mut self) -> Result<Vec<Fortune>, DatabaseError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn sessions_come_back_and_waiting_ends() {
        let pool = SessionPool::new(vec![Box::new(Nothing)]);
        let soon = || Instant::now() + Duration::from_millis(20);
        let inner = pool.with_session(soon(), |_| pool.with_session(soon(), |_| ()).is_err());
        assert!(inner.expect("one session is free"), "a second session came from nowhere");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = pool.with_session(soon(), |_| panic!("planted"));
        }));
        assert!(panicked.is_err());
        assert!(pool.with_session(soon(), |_| ()).is_ok(), "the session was lost in a panic");
    }
}
