use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Binds the calling thread, and those it starts from now on, to these processors.
///
/// Fails if one of them is not available to this process; the error names it and those available.
pub fn bind_to(processors: &[u32]) -> io::Result<()> {
    check_processors(processors)?;
    bind(processors.iter().copied())
}

/// Moves the calling thread to this processor, even if it was bound to others; fails if this process may not
/// use it.
pub fn move_to(processor: u32) -> io::Result<()> {
    bind([processor])
}

fn bind(processors: impl IntoIterator<Item = u32>) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.into_iter().for_each(|cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// The processors that a thread may run on, to be restored later.
#[derive(Debug, Clone, Copy)]
pub struct CpuAffinity(CpuSet);

impl CpuAffinity {
    /// The calling thread's.
    pub fn current() -> io::Result<Self> {
        Ok(Self(sched_getaffinity(None)?))
    }

    /// All processors that this process may use, whatever the calling thread is bound to; the thread is unbound
    /// afterwards.
    pub fn all_processors() -> Vec<u32> {
        // The kernel ignores processors that do not exist or that a control group withholds.
        let _ = bind(0..CpuSet::MAX_CPU as u32);
        Self::current().map_or_else(|_| Vec::new(), |allowed| allowed.list())
    }

    /// Their numbers, ascending.
    pub fn list(&self) -> Vec<u32> {
        (0..CpuSet::MAX_CPU).filter(|cpu| self.0.is_set(*cpu)).map(|cpu| cpu as u32).collect()
    }

    /// Binds the calling thread to them again.
    pub fn restore(&self) -> io::Result<()> {
        Ok(sched_setaffinity(None, &self.0)?)
    }
}

/// Checks that this process may run on each of these processors; the error names the first it may not.
pub fn check_processors(processors: &[u32]) -> io::Result<()> {
    let allowed = CpuAffinity::current()?.list();
    let Some(missing) = processors.iter().find(|cpu| !allowed.contains(cpu)) else { return Ok(()) };
    let list: Vec<String> = allowed.iter().map(u32::to_string).collect();
    Err(io::Error::other(format!("processor {missing} is not available here; choose of {}", list.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_and_free_again() {
        let allowed = CpuAffinity::current().expect("every kernel has it");
        let all = allowed.list();
        let last = *all.last().expect("this runs somewhere");
        bind_to(&[last]).expect("it is ours to run on");
        assert_eq!(CpuAffinity::current().expect("every kernel has it").list(), [last]);
        let everywhere = CpuAffinity::all_processors();
        assert!(all.iter().all(|cpu| everywhere.contains(cpu)), "bound to one, it still knows the others");
        move_to(last).expect("it is ours to run on");
        allowed.restore().expect("they were ours before");
        assert_eq!(CpuAffinity::current().expect("every kernel has it").list(), all);
    }
}
