//! Where the VM's threads left its code: for each call out of it they record their last frame.

use super::StackPoint;
use super::tables::Tables;
use crate::memory::ForeignMemory;
use std::collections::HashMap;

/// Maximum threads per VM.
const MAX_THREADS: u64 = 20_000;

/// Layout of thread structures; offsets in bytes unless stated otherwise.
#[derive(Debug, Clone, Copy)]
pub struct ThreadFields {
    list: ThreadList,
    /// Of a thread: its OS thread structure, and in that the thread id.
    os_thread: u64,
    thread_id: u64,
    /// Of a thread: last stack pointer, frame pointer, and instruction pointer.
    stack: u64,
    frame: u64,
    instruction: u64,
}

/// How threads are listed. The first number is an address.
#[derive(Debug, Clone, Copy)]
enum ThreadList {
    /// Address of the list pointer; offsets of the length and of the array of threads.
    Array(u64, u64, u64),
    /// Address of the first thread; offset of the next (until JDK 11).
    Linked(u64, u64),
}

impl ThreadFields {
    /// From the VM's tables; none if they lack a field.
    pub fn of<M: ForeignMemory>(tables: &Tables<'_, M>) -> Option<Self> {
        let listed = || {
            let list = tables.static_address("ThreadsSMRSupport", "_java_thread_list")?;
            let (length, threads) =
                (tables.offset("ThreadsList", "_length")?, tables.offset("ThreadsList", "_threads")?);
            Some(ThreadList::Array(list, length, threads))
        };
        let linked = || {
            Some(ThreadList::Linked(
                tables.static_address("Threads", "_thread_list")?,
                tables.offset("JavaThread", "_next")?,
            ))
        };
        let os_thread =
            tables.offset("JavaThread", "_osthread").or_else(|| tables.offset("Thread", "_osthread"));
        let anchor = tables.offset("JavaThread", "_anchor")?;
        let noted = |field: &str| Some(anchor.wrapping_add(tables.offset("JavaFrameAnchor", field)?));
        Some(Self {
            list: listed().or_else(linked)?,
            os_thread: os_thread?,
            thread_id: tables.offset("OSThread", "_thread_id")?,
            stack: noted("_last_Java_sp")?,
            frame: noted("_last_Java_fp")?,
            instruction: noted("_last_Java_pc")?,
        })
    }

    /// Where the thread described there left the VM's code.
    pub fn last_frame<M: ForeignMemory>(&self, memory: &M, at: u64) -> Option<StackPoint> {
        let noted = |offset: u64| memory.word(at.wrapping_add(offset));
        let stack = noted(self.stack).filter(|stack| *stack != 0)?;
        // If not recorded, it is where the call pushed it.
        let instruction = match noted(self.instruction)? {
            0 => memory.word(stack.wrapping_sub(8))?,
            instruction => instruction,
        };
        Some(StackPoint {
            instruction,
            stack,
            frame: noted(self.frame)?,
            link: 0,
            innermost: false,
            whole: true,
        })
    }

    /// Thread structures by thread id.
    pub fn threads<M: ForeignMemory>(&self, memory: &M) -> HashMap<u32, u64> {
        let numbered = |at: u64| {
            let os_thread = memory.word(at.wrapping_add(self.os_thread))?;
            let number = memory.int(os_thread.wrapping_add(self.thread_id))?;
            Some((u32::try_from(number).ok()?, at))
        };
        self.all(memory).filter_map(numbered).collect()
    }

    fn all<'m, M: ForeignMemory>(&self, memory: &'m M) -> Box<dyn Iterator<Item = u64> + 'm> {
        let there = |at: &u64| *at != 0;
        match self.list {
            ThreadList::Array(list, length, threads) => {
                let list = memory.word(list).filter(there);
                let length = list.and_then(|list| memory.int(list.wrapping_add(length)));
                let count =
                    length.and_then(|length| u64::try_from(length).ok()).unwrap_or(0).min(MAX_THREADS);
                let first = list.and_then(|list| memory.word(list.wrapping_add(threads))).unwrap_or(0);
                Box::new((0..count).map_while(move |nth| memory.word(first.wrapping_add(8 * nth))))
            }
            ThreadList::Linked(first, next) => {
                let first = memory.word(first).filter(there);
                let next = move |at: &u64| memory.word(at.wrapping_add(next)).filter(there);
                Box::new(std::iter::successors(first, next).take(MAX_THREADS as usize))
            }
        }
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl ThreadFields {
    /// Arbitrary fields, with either kind of list.
    pub fn any(mut field: impl FnMut() -> u64) -> Self {
        let list = match field() % 2 {
            0 => ThreadList::Array(field(), field(), field()),
            _ => ThreadList::Linked(field(), field()),
        };
        let (os_thread, thread_id, stack, frame, instruction) = (field(), field(), field(), field(), field());
        Self { list, os_thread, thread_id, stack, frame, instruction }
    }
}
