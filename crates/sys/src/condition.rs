use crate::AnonymousMapping;
use crate::errors::check_code;
use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

/// A number guarded by the C library's mutex and condition variable (pthread_cond_wait(3)), in memory shared
/// with the children that this process forks from now on.
///
/// Neither is destroyed at the end, for another process may still wait: they hold nothing but their memory.
#[derive(Debug)]
pub struct Condition {
    inner: NonNull<Inner>,
    _memory: AnonymousMapping,
}

#[repr(C)]
struct Inner {
    mutex: libc::pthread_mutex_t,
    changed: libc::pthread_cond_t,
    /// Atomic only so that even a child forked while the mutex is held reads a number.
    number: AtomicU32,
}

// SAFETY: mutex and condition variable are made for use by several threads, and the number is atomic.
unsafe impl Send for Condition {}
// SAFETY: as above.
unsafe impl Sync for Condition {}

impl Condition {
    /// Starts at 0; shared by the threads of this process, or between processes.
    pub fn new(between_processes: bool) -> io::Result<Self> {
        let memory = AnonymousMapping::anonymous(Bytes(size_of::<Inner>() as u64), libc::MAP_SHARED)?;
        let this = Self { inner: memory.raw_parts().0.cast(), _memory: memory };
        let sharing =
            if between_processes { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        // SAFETY: a mapping is page-aligned, has room for an `Inner`, and nobody else knows of it yet. The
        // attributes are initialised before use, and hold nothing to be released in this C library; the number
        // is zero, as is all of a new mapping.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            check_code(libc::pthread_mutexattr_init(&raw mut attributes))?;
            check_code(libc::pthread_mutexattr_setpshared(&raw mut attributes, sharing))?;
            check_code(libc::pthread_mutex_init(this.mutex(), &raw const attributes))?;
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            check_code(libc::pthread_condattr_init(&raw mut attributes))?;
            check_code(libc::pthread_condattr_setpshared(&raw mut attributes, sharing))?;
            check_code(libc::pthread_cond_init(this.changed(), &raw const attributes))?;
        }
        Ok(this)
    }

    /// Locks the mutex; the guard releases it only while it waits for the number.
    pub fn lock(&self) -> io::Result<ConditionGuard<'_>> {
        // SAFETY: the mutex was initialised in `new`, and its memory lives as long as `self` is borrowed.
        check_code(unsafe { libc::pthread_mutex_lock(self.mutex()) })?;
        Ok(ConditionGuard { condition: self, not_send: PhantomData })
    }

    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        // SAFETY: the pointer is to an `Inner`, of which this is a field; no reference is made.
        unsafe { &raw mut (*self.inner.as_ptr()).mutex }
    }

    fn changed(&self) -> *mut libc::pthread_cond_t {
        // SAFETY: as in `mutex`.
        unsafe { &raw mut (*self.inner.as_ptr()).changed }
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: a field of an `Inner` that lives as long as `self`, and is only used as an atomic.
        unsafe { &(*self.inner.as_ptr()).number }
    }
}

/// The mutex of a [`Condition`], locked by this thread.
#[derive(Debug)]
pub struct ConditionGuard<'a> {
    condition: &'a Condition,
    /// Only the thread that locked a mutex may unlock it.
    not_send: PhantomData<*const ()>,
}

impl ConditionGuard<'_> {
    /// Sets the number, and wakes one waiter, if any.
    #[inline]
    pub fn set(&mut self, number: u32) {
        self.condition.number().store(number, Ordering::Relaxed);
        // SAFETY: the condition variable was initialised in `new`, and its memory lives while borrowed. It
        // cannot fail.
        unsafe { libc::pthread_cond_signal(self.condition.changed()) };
    }

    /// Waits until the number is this one, with the mutex released meanwhile.
    #[inline]
    pub fn wait_for(&mut self, number: u32) -> io::Result<()> {
        while self.condition.number().load(Ordering::Relaxed) != number {
            // SAFETY: both were initialised in `new`, for the same processes; their memory lives while
            // borrowed; and this thread holds the mutex: `self`, which is not `Send`, proves it.
            check_code(unsafe { libc::pthread_cond_wait(self.condition.changed(), self.condition.mutex()) })?;
        }
        Ok(())
    }
}

impl Drop for ConditionGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `wait_for`.
        unsafe { libc::pthread_mutex_unlock(self.condition.mutex()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_goes_back_and_forth_without_a_lost_wake_up() {
        for between_processes in [false, true] {
            let condition = Condition::new(between_processes).expect("a page can be had");
            let rounds = 5000;
            std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    let mut guard = condition.lock().expect("it is not held by this thread");
                    for round in 0..rounds {
                        guard.wait_for(2 * round + 1).expect("it is held");
                        guard.set(2 * round + 2);
                    }
                });
                let mut guard = condition.lock().expect("it is not held by this thread");
                for round in 0..rounds {
                    guard.set(2 * round + 1);
                    guard.wait_for(2 * round + 2).expect("it is held");
                }
                drop(guard);
                other.join().expect("each number came");
            });
            let mut guard = condition.lock().expect("both have let it go");
            guard.wait_for(2 * rounds).expect("it is this number already");
        }
    }
}
