//! How a thread gives way to a run.

use crate::{CpuAffinity, bind_to};

/// So much less than anything else: whoever looks may be late, the load may not.
const NICE: i32 = 10;

/// The thread that calls this, and those it starts, give way to whatever else this process does, and stay away from these
/// processors, if there are others. Whatever cannot be had is done without: it is a favour, and other threads have their own.
pub fn lower_priority(busy: &[u32]) {
    // Of this thread alone, and of those it starts: setpriority(2).
    let _ = rustix::process::setpriority_process(None, NICE);
    if let Ok(allowed) = CpuAffinity::current() {
        let all = allowed.list();
        let free: Vec<u32> = all.iter().copied().filter(|processor| !busy.contains(processor)).collect();
        if !free.is_empty() && free.len() < all.len() {
            let _ = bind_to(&free);
        }
    }
}
