use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Binds the calling thread, and those it starts from now on, to these processors.
///
/// Fails, naming it and those there are, if one of them is not available to this process.
pub fn run_on(processors: &[u32]) -> io::Result<()> {
    check_processors(processors)?;
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Whether this process may run on each of these processors; the error names the first it may not.
pub fn check_processors(processors: &[u32]) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let is_allowed = |cpu: usize| cpu < CpuSet::MAX_CPU && allowed.is_set(cpu);
    let Some(missing) = processors.iter().find(|cpu| !is_allowed(**cpu as usize)) else { return Ok(()) };
    let list: Vec<String> =
        (0..CpuSet::MAX_CPU).filter(|cpu| is_allowed(*cpu)).map(|cpu| cpu.to_string()).collect();
    Err(io::Error::other(format!("processor {missing} is not available here; choose of {}", list.join(", "))))
}
