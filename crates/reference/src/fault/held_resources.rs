//! What requests leave behind: memory, threads, descriptors, a growing file.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::Builder;
use std::time::Duration;

/// 8 GiB: more than any limit worth testing.
const MEMORY_LIMIT: usize = 8 << 30;
/// Maximum threads that outlive their request.
const THREADS_LIMIT: usize = 20_000;
/// Maximum descriptors kept.
const DESCRIPTORS_LIMIT: usize = 1_000_000;
/// The file is truncated at this size.
const FILE_LIMIT: u64 = 256 << 20;
/// The threads only sleep.
const STACK_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct HeldResources {
    memory: Mutex<Vec<Vec<u8>>>,
    descriptors: Mutex<Vec<File>>,
    threads: Arc<HeldThreads>,
    file: Mutex<Option<Arc<tempfile::NamedTempFile>>>,
}

#[derive(Default)]
struct HeldThreads {
    state: Mutex<ThreadCount>,
    ended: Condvar,
}

#[derive(Default)]
struct ThreadCount {
    count: usize,
    is_stopping: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it is held")
}

impl HeldResources {
    /// Keeps memory that has been written to, since a mere reservation takes no room.
    pub(super) fn memory(&self, bytes: usize) -> Result<(), String> {
        // Written outside the lock: touching pages may take long, or kill the process.
        let block = vec![1; bytes];
        let mut all = lock(&self.memory);
        if all.iter().map(Vec::len).sum::<usize>() + bytes > MEMORY_LIMIT {
            return Err("8 GiB are kept already; /fault/memory?reset=1 gives them back".to_owned());
        }
        all.push(block);
        Ok(())
    }

    pub(super) fn free_memory(&self) {
        lock(&self.memory).clear();
    }

    /// Starts a thread that only sleeps.
    pub(super) fn thread(&self, life: Duration) -> Result<(), String> {
        let threads = Arc::clone(&self.threads);
        {
            let mut state = lock(&threads.state);
            if state.is_stopping || state.count >= THREADS_LIMIT {
                return Err("too many threads live already".to_owned());
            }
            state.count += 1;
        }
        let wait_for_end = {
            let threads = Arc::clone(&threads);
            move || {
                let held = lock(&threads.state);
                let waited = threads.ended.wait_timeout_while(held, life, |state| !state.is_stopping);
                let (mut state, _) = waited.expect("nothing panics while it is held");
                state.count -= 1;
            }
        };
        if let Err(e) =
            Builder::new().name("short-lived".to_owned()).stack_size(STACK_BYTES).spawn(wait_for_end)
        {
            lock(&threads.state).count -= 1;
            return Err(format!("a thread cannot be started: {e}"));
        }
        Ok(())
    }

    pub(super) fn open(&self) -> Result<(), String> {
        let file = File::open("/dev/null").map_err(|e| format!("no descriptor can be had: {e}"))?;
        let mut all = lock(&self.descriptors);
        if all.len() >= DESCRIPTORS_LIMIT {
            return Err("too many descriptors are kept already".to_owned());
        }
        all.push(file);
        Ok(())
    }

    pub(super) fn close_all(&self) {
        lock(&self.descriptors).clear();
    }

    /// Appends to a file in the temporary folder, and waits until that is on disk.
    pub(super) fn append(&self, bytes: usize) -> Result<(), String> {
        let failed = |e: std::io::Error| format!("{}: {e}", std::env::temp_dir().display());
        let file = {
            let mut file_slot = lock(&self.file);
            match &*file_slot {
                Some(file) => Arc::clone(file),
                None => {
                    let mut builder = tempfile::Builder::new();
                    let file = builder.prefix("torment-fault-").append(true).tempfile().map_err(failed)?;
                    Arc::clone(file_slot.insert(Arc::new(file)))
                }
            }
        };
        let mut to = file.as_file();
        if to.metadata().map_err(failed)?.len() > FILE_LIMIT {
            to.set_len(0).map_err(failed)?;
        }
        to.write_all(&vec![b'x'; bytes]).map_err(failed)?;
        to.sync_all().map_err(failed)
    }

    /// Wakes the sleeping threads, so that they end.
    pub(super) fn stop_threads(&self) {
        lock(&self.threads.state).is_stopping = true;
        self.threads.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_live_for_their_time_or_until_the_end() {
        let held = HeldResources::default();
        let living = || lock(&held.threads.state).count;
        held.thread(Duration::from_secs(3_600)).expect("a thread can be had");
        held.thread(Duration::ZERO).expect("a thread can be had");
        while living() > 1 {
            std::thread::yield_now();
        }
        held.stop_threads();
        while living() > 0 {
            std::thread::yield_now();
        }
        assert!(held.thread(Duration::ZERO).is_err(), "after the end none is started");
    }

    #[test]
    fn what_is_kept_is_given_back() {
        let held = HeldResources::default();
        held.memory(10).expect("a few bytes");
        held.open().expect("a descriptor");
        held.append(10).and_then(|()| held.append(5)).expect("a file");
        let path = lock(&held.file).as_ref().expect("made").path().to_owned();
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), 15);
        held.free_memory();
        held.close_all();
        assert!(lock(&held.memory).is_empty() && lock(&held.descriptors).is_empty());
        drop(held);
        assert!(!path.exists(), "the file stays behind");
    }
}
