//! Lowering a thread's priority so that it yields to a run.

use crate::{CpuAffinity, bind_to};

/// Niceness of observers: they may be late, the load may not.
const NICE: i32 = 10;

/// Lowers the priority of the calling thread, and of those it starts, and keeps them off these processors, if
/// there are others. Best effort: failures are ignored, and other threads are not affected.
pub fn lower_priority(busy: &[u32]) {
    // Affects this thread alone, and those it starts: setpriority(2).
    let _ = rustix::process::setpriority_process(None, NICE);
    if let Ok(allowed) = CpuAffinity::current() {
        let all = allowed.list();
        let free: Vec<u32> = all.iter().copied().filter(|processor| !busy.contains(processor)).collect();
        if !free.is_empty() && free.len() < all.len() {
            let _ = bind_to(&free);
        }
    }
}
