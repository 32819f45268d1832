//! Unwinds from registers and a copy of the stack.

use crate::elf::UnwindTables;
use crate::perf_record::{Registers, StackSample, within};
use crate::runtime::{Runtime, StackPoint};
use crate::runtime_names::{Frame, RuntimeNames};
use framehop::Unwinder as _;
use framehop::{CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module};
use framehop::{UnwindRegsNative, UnwinderNative};
use std::ops::Range;
use std::sync::Arc;

/// Maximum frames kept of a stack, the innermost ones; a recursion may have more.
pub const MOST_FRAMES: usize = 1_000;
/// Maximum words tried as frame pointers.
const MOST_TRIED: usize = 64;
/// The kernel follows no more frame pointers than this (`kernel.perf_event_max_stack`).
const CHAIN: usize = 127;

/// Unwinds the stacks of one process.
#[derive(Clone, Default)]
pub struct Unwinder(UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>);

/// Cached unwind rules by address, of all processes.
#[derive(Default)]
pub struct UnwindCache(CacheNative<MayAllocateDuringUnwind>);

/// The unwind tables of a mapped file.
pub struct UnwindModule(Module<Arc<[u8]>>);

/// A file mapped at `place` with this load bias; none without tables, or if the addresses are impossible.
pub fn unwind_module(range: Range<u64>, bias: u64, tables: &UnwindTables) -> Option<UnwindModule> {
    if tables.frames.is_none() && tables.debug_frames.is_none() || bias > range.start {
        return None;
    }
    let UnwindTables { text, got, frames, index, debug_frames } = tables.clone();
    let (eh_frame_svma, eh_frame) = frames.unzip();
    let (eh_frame_hdr_svma, eh_frame_hdr) = index.unzip();
    let sections = ExplicitModuleSectionInfo {
        text_svma: text,
        got_svma: got,
        eh_frame_svma,
        eh_frame,
        eh_frame_hdr_svma,
        eh_frame_hdr,
        debug_frame: debug_frames,
        ..ExplicitModuleSectionInfo::default()
    };
    Some(UnwindModule(Module::new(String::new(), range, bias, sections)))
}

/// A user-space stack.
#[derive(Debug, PartialEq, Eq)]
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// Whether the last is the root.
    pub whole: bool,
}

impl Unwinder {
    pub fn add_module(&mut self, module: UnwindModule) {
        self.0.add_module(module.0);
    }

    /// Removes the file mapped at this address, if any.
    pub fn remove_module(&mut self, start: u64) {
        self.0.remove_module(start);
    }

    /// Unwinds a sample's stack: by unwind tables as far as the copy of the stack reaches, by frame
    /// pointers where code has no tables, and beyond the copy by the kernel's chain; through a runtime's
    /// code by that runtime.
    pub fn unwind(
        &self,
        sample: &StackSample<'_>,
        rules: &mut UnwindCache,
        runtime: Option<&mut dyn Runtime>,
        names: &mut RuntimeNames,
    ) -> Stack {
        let mut chain = sample.user();
        let Some(registers) = sample.registers.filter(|_| !sample.stack.is_empty()) else {
            return by_frame_pointers(&mut chain);
        };
        let mut stack = self.by_tables(begin(registers), sample, rules, runtime, names);
        let Some(Frame::Address(last)) = stack.frames.last().filter(|_| !stack.whole) else { return stack };
        // From an address common to both, the kernel's chain may reach further.
        let last = last + u64::from(stack.frames.len() > 1);
        let (mut skipped, mut beyond) = (0, Vec::new());
        while let Some(address) = chain.next() {
            skipped += 1;
            if address == last {
                beyond = by_frame_pointers_after(&mut chain);
                break;
            }
        }
        if !beyond.is_empty() {
            stack.whole = skipped + beyond.len() < CHAIN;
            stack.frames.extend(beyond);
            stack.frames.truncate(MOST_FRAMES);
        }
        stack
    }

    /// Completes the stack of a waiting thread whose root was not found because its frame pointer is
    /// unknown. A runtime may have recorded where its code was left. Other code has saved its frame pointer
    /// on the stack: takes the first word from which the stack can be followed to its root through nothing
    /// but code.
    pub fn complete(
        &self,
        stack: &mut Stack,
        sample: &StackSample<'_>,
        rules: &mut UnwindCache,
        runtime: Option<(&mut dyn Runtime, Option<StackPoint>)>,
        names: &mut RuntimeNames,
        is_code: &dyn Fn(u64) -> bool,
    ) {
        let is_whole = |stack: &Stack| {
            let is_code = |frame: &Frame| !matches!(frame, Frame::Address(address) if !is_code(*address));
            stack.whole && stack.frames.iter().all(is_code)
        };
        let Some(registers) = sample.registers.filter(|_| !is_whole(stack)) else { return };
        let (mut runtime, left) = runtime.map_or((None, None), |(runtime, left)| (Some(runtime), left));
        if let (Some(runtime), Some(left)) = (&mut runtime, left) {
            let is_native = |frame: &Frame| matches!(frame, Frame::Address(at) if !runtime.has(*at));
            let native = stack.frames.iter().take_while(|frame| is_native(frame)).count();
            let outside = self.by_tables(left, sample, rules, Some(&mut **runtime), names);
            stack.frames.truncate(native);
            stack.frames.extend(outside.frames);
            stack.whole = outside.whole;
            return;
        }
        for frame in frame_pointers(registers.stack, sample.stack).take(MOST_TRIED) {
            let from = begin(Registers { frame, ..registers });
            let found = self.by_tables(from, sample, rules, reborrow(&mut runtime), names);
            if is_whole(&found) {
                *stack = found;
                return;
            }
        }
    }

    fn by_tables(
        &self,
        from: StackPoint,
        sample: &StackSample<'_>,
        rules: &mut UnwindCache,
        mut runtime: Option<&mut dyn Runtime>,
        names: &mut RuntimeNames,
    ) -> Stack {
        let copied_from = sample.registers.map_or(0, |registers| registers.stack);
        let word = |address| word(copied_from, sample.stack, address);
        let mut read = |address| word(address).ok_or(());
        let mut native = registers_at(from);
        let mut at = match FrameAddress::from_return_address(from.instruction).filter(|_| !from.innermost) {
            Some(caller) => caller,
            None => FrameAddress::from_instruction_pointer(from.instruction),
        };
        let mut stack = Stack { frames: Vec::new(), whole: false };
        let mut is_complete = true;
        while stack.frames.len() < MOST_FRAMES {
            let address = at.address_for_lookup();
            let next = match &mut runtime {
                Some(runtime) if runtime.has(address) => {
                    let next = runtime.step(point(&native, at), &word, names, &mut stack.frames);
                    next.map(|next| {
                        native = registers_at(next);
                        is_complete &= next.whole;
                        next.instruction
                    })
                }
                _ => {
                    stack.frames.push(Frame::Address(address));
                    let next = self.0.unwind_frame(at, &mut native, &mut rules.0, &mut read);
                    stack.whole = matches!(next, Ok(None)) && is_complete;
                    next.ok().flatten()
                }
            };
            let Some(next) = next.and_then(FrameAddress::from_return_address) else { break };
            at = next;
        }
        if let Some(runtime) = runtime {
            runtime.end(names, &mut stack.frames);
        }
        stack
    }
}

/// Reborrows; an `as_deref_mut` that works for a `dyn`.
pub fn reborrow<'a>(runtime: &'a mut Option<&mut dyn Runtime>) -> Option<&'a mut dyn Runtime> {
    match runtime {
        Some(runtime) => Some(&mut **runtime),
        None => None,
    }
}

/// The word at an address of a stack that was copied from `from` on.
fn word(from: u64, copy: &[u8], address: u64) -> Option<u64> {
    let place = within(from, copy.len(), address)?;
    Some(u64::from_ne_bytes(copy[place].try_into().ok()?))
}

fn begin(registers: Registers) -> StackPoint {
    let Registers { instruction, stack, frame, link } = registers;
    StackPoint { instruction, stack, frame, link, innermost: true, whole: true }
}

/// Stack slots that a frame pointer may point to: each holds a saved frame pointer, which points further
/// up.
fn frame_pointers(from: u64, copy: &[u8]) -> impl Iterator<Item = u64> {
    let end = from.saturating_add(copy.len() as u64);
    (from..end).filter(|at| at.is_multiple_of(8)).filter(move |at| {
        word(from, copy, *at).is_some_and(|saved| saved > *at && saved < end && saved.is_multiple_of(8))
    })
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.instruction, registers.stack, registers.frame)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.link, registers.stack, registers.frame)
}

#[cfg(target_arch = "x86_64")]
fn point(native: &UnwindRegsNative, at: FrameAddress) -> StackPoint {
    let (stack, frame, innermost) = (native.sp(), native.bp(), !at.is_return_address());
    StackPoint { instruction: at.address(), stack, frame, link: 0, innermost, whole: true }
}

#[cfg(target_arch = "aarch64")]
fn point(native: &UnwindRegsNative, at: FrameAddress) -> StackPoint {
    let (stack, frame, innermost) = (native.sp(), native.fp(), !at.is_return_address());
    let link = if innermost { native.lr() } else { 0 };
    StackPoint { instruction: at.address(), stack, frame, link, innermost, whole: true }
}

/// The registers at a point; a caller's return address is its instruction pointer.
fn registers_at(to: StackPoint) -> UnwindRegsNative {
    let StackPoint { instruction, stack, frame, link, innermost, .. } = to;
    native(Registers { instruction, stack, frame, link: if innermost { link } else { instruction } })
}

/// The kernel's chain alone: through code without frame pointers it ends early or goes astray.
fn by_frame_pointers(chain: &mut impl Iterator<Item = u64>) -> Stack {
    let mut frames: Vec<Frame> = chain.next().map(Frame::Address).into_iter().collect();
    frames.extend(by_frame_pointers_after(chain));
    let whole = frames.len() < CHAIN;
    Stack { frames, whole }
}

/// Callers: each continues after its call.
fn by_frame_pointers_after(chain: &mut impl Iterator<Item = u64>) -> Vec<Frame> {
    chain.map(|address| Frame::Address(address.saturating_sub(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_pointer_leads_further_up_the_stack() {
        let from = 0x7000_u64;
        let words = [from + 24, 7, from + 12, from + 32, from, from + 48, 0];
        let copy: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
        let found: Vec<u64> = frame_pointers(from, &copy).map(|at| at - from).collect();
        assert_eq!(found, [0, 24, 40]);
    }
}
