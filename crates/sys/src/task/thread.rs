//! Threads that do nothing.

use crate::errors::check_code;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Larger than glibc's cache of unused stacks, 40 MiB (pthread_create, `nptl/allocatestack.c`). Such a stack is
/// mapped when its thread starts, and unmapped after its end.
const UNCACHED_STACK: usize = 64 << 20;

/// Starts threads by pthread_create(3).
pub struct ThreadStarter(Option<Box<libc::pthread_attr_t>>);

impl ThreadStarter {
    /// With libc's default stacks: the first thread's is mapped, then cached and reused.
    pub fn with_default_stacks() -> Self {
        Self(None)
    }

    /// Each with a stack that has to be mapped first.
    pub fn with_new_stacks() -> io::Result<Self> {
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: it initialises the memory that it is given.
        check_code(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: initialised above.
        let mut this = Self(Some(unsafe { attributes.assume_init() }));
        if let Some(attributes) = &mut this.0 {
            // SAFETY: initialised, and borrowed for writing.
            check_code(unsafe { libc::pthread_attr_setstacksize(&raw mut **attributes, UNCACHED_STACK) })?;
        }
        Ok(this)
    }

    /// Starts a thread that ends at once.
    pub fn start(&self) -> io::Result<RawThread> {
        let mut thread = MaybeUninit::uninit();
        let attributes = self.0.as_deref().map_or(null(), |attributes| &raw const *attributes);
        // SAFETY: room for the thread's handle, attributes that are null or initialised, and a function that
        // touches nothing.
        check_code(unsafe {
            libc::pthread_create(thread.as_mut_ptr(), attributes, return_argument, null_mut())
        })?;
        // SAFETY: the thread was started, so its handle was written.
        Ok(RawThread(unsafe { thread.assume_init() }))
    }
}

impl Drop for ThreadStarter {
    fn drop(&mut self) {
        if let Some(attributes) = &mut self.0 {
            // SAFETY: initialised, and not used any more.
            unsafe { libc::pthread_attr_destroy(&raw mut **attributes) };
        }
    }
}

/// A started thread. Unless it is joined, its stack leaks.
#[must_use]
#[derive(Debug)]
pub struct RawThread(libc::pthread_t);

impl RawThread {
    /// Waits for its end (pthread_join(3)).
    pub fn join(self) -> io::Result<()> {
        // SAFETY: it was started joinable, and this is its only handle, given up here.
        check_code(unsafe { libc::pthread_join(self.0, null_mut()) })
    }
}

extern "C" fn return_argument(argument: *mut c_void) -> *mut c_void {
    argument
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UsageScope, usage};

    /// Page faults of this process per thread, over a few hundred threads.
    fn faults(threads: &ThreadStarter) -> f64 {
        let run = || threads.start().expect("there is room").join().expect("it is ours");
        (0..10).for_each(|_| run());
        let before = usage(UsageScope::Process);
        (0..300).for_each(|_| run());
        usage(UsageScope::Process).since(&before).minor_faults as f64 / 300.0
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn a_kept_stack_is_there_already_and_a_new_one_has_to_be_touched() {
        let new = faults(&ThreadStarter::with_new_stacks().expect("64 MiB is no extreme size"));
        assert!(new >= 1.0, "{new} faults for each thread: no stack was new");
        // Other tests of this process fault meanwhile, and their threads take cached stacks.
        let kept =
            (0..20).map(|_| faults(&ThreadStarter::with_default_stacks())).find(|kept| *kept < new / 2.0);
        assert!(kept.is_some(), "no kept stack was found: they fault as new ones do, {new} for each thread");
    }
}
