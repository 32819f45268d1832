use crate::AnonymousMapping;
use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;

/// A number under a mutex and a condition variable of the C library (pthread_cond_wait(3)), in memory that this process
/// and the children that it forks from now on have in common.
///
/// None of the two is destroyed at the end, for another process may still wait: neither holds anything but its memory.
#[derive(Debug)]
pub struct Condition {
    place: NonNull<Inner>,
    _memory: AnonymousMapping,
}

#[repr(C)]
struct Inner {
    mutex: libc::pthread_mutex_t,
    changed: libc::pthread_cond_t,
    /// An atomic only so that even a child that is forked while this is held reads a number.
    number: AtomicU32,
}

// SAFETY: the mutex and the condition variable are made to be used by several threads, and the number is an atomic.
unsafe impl Send for Condition {}
// SAFETY: as above.
unsafe impl Sync for Condition {}

impl Condition {
    /// Of the number 0, for the threads of this process, or for processes.
    pub fn new(between_processes: bool) -> io::Result<Self> {
        let memory = AnonymousMapping::anonymous(Bytes(size_of::<Inner>() as u64), libc::MAP_SHARED)?;
        let this = Self { place: memory.place().0.cast(), _memory: memory };
        let who =
            if between_processes { libc::PTHREAD_PROCESS_SHARED } else { libc::PTHREAD_PROCESS_PRIVATE };
        // SAFETY: a mapping is aligned to a page, has room for an `Inner`, and nobody else knows of it yet. The attributes
        // are made before they are used, and hold nothing that would have to be given back in this C library; the
        // number is zero, as all of a new mapping.
        unsafe {
            let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
            done(libc::pthread_mutexattr_init(&raw mut attributes))?;
            done(libc::pthread_mutexattr_setpshared(&raw mut attributes, who))?;
            done(libc::pthread_mutex_init(this.mutex(), &raw const attributes))?;
            let mut attributes: libc::pthread_condattr_t = std::mem::zeroed();
            done(libc::pthread_condattr_init(&raw mut attributes))?;
            done(libc::pthread_condattr_setpshared(&raw mut attributes, who))?;
            done(libc::pthread_cond_init(this.changed(), &raw const attributes))?;
        }
        Ok(this)
    }

    /// Takes the mutex, and holds it but for the time that it waits for the number.
    pub fn lock(&self) -> io::Result<ConditionGuard<'_>> {
        // SAFETY: the mutex was made in `new`, and its memory is there as long as `self` is borrowed.
        done(unsafe { libc::pthread_mutex_lock(self.mutex()) })?;
        Ok(ConditionGuard { condition: self, stays: PhantomData })
    }

    fn mutex(&self) -> *mut libc::pthread_mutex_t {
        // SAFETY: the place is one of an `Inner`, of which this is a part; no reference is made to it.
        unsafe { &raw mut (*self.place.as_ptr()).mutex }
    }

    fn changed(&self) -> *mut libc::pthread_cond_t {
        // SAFETY: as in `mutex`.
        unsafe { &raw mut (*self.place.as_ptr()).changed }
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: it is a part of an `Inner` that is there as long as `self`, and only ever used as an atomic.
        unsafe { &(*self.place.as_ptr()).number }
    }
}

/// The mutex of a [`Condition`], held by this thread.
#[derive(Debug)]
pub struct ConditionGuard<'a> {
    condition: &'a Condition,
    /// Only the thread that took a mutex may let it go.
    stays: PhantomData<*const ()>,
}

impl ConditionGuard<'_> {
    /// Changes the number, and wakes one who waits, if there is one.
    #[inline]
    pub fn set(&mut self, number: u32) {
        self.condition.number().store(number, Ordering::Relaxed);
        // SAFETY: the condition variable was made in `new`, and its memory is there while it is borrowed. It cannot fail.
        unsafe { libc::pthread_cond_signal(self.condition.changed()) };
    }

    /// Waits until it is this number, without the mutex meanwhile.
    #[inline]
    pub fn wait_for(&mut self, number: u32) -> io::Result<()> {
        while self.condition.number().load(Ordering::Relaxed) != number {
            // SAFETY: both were made in `new`, for the same processes, their memory is there while it is borrowed, and
            // this thread has taken the mutex: `self` says so, which cannot go to another.
            done(unsafe { libc::pthread_cond_wait(self.condition.changed(), self.condition.mutex()) })?;
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

/// These functions say what went wrong instead of leaving it in `errno`.
fn done(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
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
                    let mut held = condition.lock().expect("it is not held by this thread");
                    for round in 0..rounds {
                        held.wait_for(2 * round + 1).expect("it is held");
                        held.set(2 * round + 2);
                    }
                });
                let mut held = condition.lock().expect("it is not held by this thread");
                for round in 0..rounds {
                    held.set(2 * round + 1);
                    held.wait_for(2 * round + 2).expect("it is held");
                }
                drop(held);
                other.join().expect("each number came");
            });
            let mut held = condition.lock().expect("both have let it go");
            held.wait_for(2 * rounds).expect("it is this number already");
        }
    }
}
