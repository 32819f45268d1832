//! Unwinds from registers and a copy of the stack.

use crate::elf::UnwindTables;
use crate::memory::ForeignMemory;
use crate::perf_record::{Registers, StackSample, within};
use crate::runtime::{Runtime, StackPoint};
use crate::runtime_names::{Frame, RuntimeNames};
use framehop::Unwinder as _;
use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Module};
use framehop::{UnwindRegsNative, UnwinderNative};
use std::ops::Range;
use std::sync::Arc;

/// Maximum frames kept of a stack, the innermost ones; a recursion may have more.
pub const MAX_FRAMES: usize = 1_000;
/// Maximum words tried as frame pointers.
const MAX_TRIED: usize = 64;
/// Maximum words of a stack in which the caller of what waits is looked for.
const MAX_SCANNED: u64 = 512;
/// No function is as long, in bytes.
const LARGEST_FUNCTION: u64 = 1 << 20;
/// The kernel follows no more frame pointers than this (`kernel.perf_event_max_stack`).
const CHAIN: usize = 127;

/// Unwinds the stacks of one process.
#[derive(Clone, Default)]
pub struct Unwinder(UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>);

/// Cached unwind rules by address, of all processes.
#[derive(Default)]
pub struct UnwindCache(CacheNative<MayAllocateDuringUnwind>);

/// What memory says of a stack that was found.
pub struct CodeChecks<'a> {
    /// Whether an address lies in code.
    pub is_code: &'a dyn Fn(u64) -> bool,
    /// What the call before a return address was of, as far as the call tells.
    pub call_target: &'a dyn Fn(u64) -> Option<u64>,
}

/// The unwind tables of a mapped file.
pub struct UnwindModule(Module<Arc<[u8]>>);

/// A file mapped at `place` with this load bias; none without tables, or if the addresses are impossible.
pub fn unwind_module(range: Range<u64>, bias: u64, tables: &UnwindTables) -> Option<UnwindModule> {
    let is_known = tables.eh_frame.is_some() || tables.debug_frame.is_some();
    (is_known && bias <= range.start)
        .then(|| UnwindModule(Module::new(String::new(), range, bias, tables.clone())))
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
            stack.frames.truncate(MAX_FRAMES);
        }
        stack
    }

    /// Completes the stack of a waiting thread whose root was not found because its frame pointer is
    /// unknown. A runtime may have recorded where its code was left. Other code has saved its frame pointer
    /// on the stack: takes a slot from which the stack can be followed to its root through nothing but code.
    /// Slots that a frame has not written yet keep words of earlier calls, from which it can be followed, too.
    /// So those come first whose caller has called what waits; and of several that lead to the root, the one
    /// that the fewest calls contradict is taken.
    pub fn complete(
        &self,
        stack: &mut Stack,
        sample: &StackSample<'_>,
        rules: &mut UnwindCache,
        runtime: Option<(&mut dyn Runtime, Option<StackPoint>)>,
        names: &mut RuntimeNames,
        checks: &CodeChecks<'_>,
    ) {
        let is_whole = |stack: &Stack| {
            let is_code =
                |frame: &Frame| !matches!(frame, Frame::Address(address) if !(checks.is_code)(*address));
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
        let callee = match stack.frames.last() {
            Some(Frame::Address(address)) => *address,
            _ => 0,
        };
        let likely = callers(registers.stack, sample.stack, callee, checks);
        let mut least = usize::MAX;
        for frame in likely.into_iter().chain(frame_pointers(registers.stack, sample.stack)).take(MAX_TRIED) {
            let from = begin(Registers { frame, ..registers });
            let found = self.by_tables(from, sample, rules, reborrow(&mut runtime), names);
            if !is_whole(&found) {
                continue;
            }
            let contradicted = contradictions(&found, checks.call_target);
            if contradicted < least {
                (least, *stack) = (contradicted, found);
            }
            if least == 0 {
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
        while stack.frames.len() < MAX_FRAMES {
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

/// Whether a function that begins at `target` may contain `address`.
fn may_contain(target: u64, address: u64) -> bool {
    address.wrapping_sub(target) < LARGEST_FUNCTION
}

/// Calls of a stack that were of another function than the one found above them.
fn contradictions(stack: &Stack, call_target: &dyn Fn(u64) -> Option<u64>) -> usize {
    let pairs = stack.frames.windows(2).filter(|pair| match pair {
        // A caller's address lies within its call, one before the return address.
        [Frame::Address(callee), Frame::Address(caller)] => {
            call_target(caller.wrapping_add(1)).is_some_and(|target| !may_contain(target, *callee))
        }
        _ => false,
    });
    pairs.count()
}

/// Stack slots in which `callee` may have saved its caller's frame pointer: after each stands a return address, before which the
/// function that `callee` lies in was called. Its caller may use that register for anything, so what the slot holds says nothing.
/// Functions do not overlap: the likeliest begins closest to `callee`.
fn callers(from: u64, copy: &[u8], callee: u64, checks: &CodeChecks<'_>) -> Vec<u64> {
    let slots = (0..MAX_SCANNED).filter_map(|nth| {
        let slot = from.checked_add(8 * nth)?;
        let back = word(from, copy, slot.checked_add(8)?).filter(|back| (checks.is_code)(*back))?;
        let target = (checks.call_target)(back).filter(|target| may_contain(*target, callee))?;
        Some((callee.wrapping_sub(target), slot))
    });
    let mut slots: Vec<(u64, u64)> = slots.collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, slot)| slot).collect()
}

/// What the instruction before a return address calls; none if that is not a call, or one through a register.
#[cfg(target_arch = "x86_64")]
pub fn call_target(memory: &impl ForeignMemory, return_address: u64) -> Option<u64> {
    let call: [u8; 6] = memory.array(return_address.wrapping_sub(6))?;
    let relative = |offset| return_address.wrapping_add_signed(i64::from(i32::from_le_bytes(offset)));
    match call {
        // Through a pointer beside the code, as libraries call each other's functions.
        [0xFF, 0x15, offset @ ..] => memory.word(relative(offset)),
        [_, 0xE8, offset @ ..] => Some(relative(offset)),
        _ => None,
    }
}

/// See above: BL, relative to itself, in words.
#[cfg(target_arch = "aarch64")]
pub fn call_target(memory: &impl ForeignMemory, return_address: u64) -> Option<u64> {
    let at = return_address.wrapping_sub(4);
    let call = memory.int(at).filter(|call| call.cast_unsigned() >> 26 == 0b10_0101)?;
    Some(at.wrapping_add_signed(i64::from(call << 6 >> 4)))
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

#[cfg(target_arch = "x86_64")]
fn registers_at(at: StackPoint) -> UnwindRegsNative {
    UnwindRegsNative::new(at.instruction, at.stack, at.frame)
}

/// A caller's return address is its instruction pointer.
#[cfg(target_arch = "aarch64")]
fn registers_at(at: StackPoint) -> UnwindRegsNative {
    UnwindRegsNative::new(if at.innermost { at.link } else { at.instruction }, at.stack, at.frame)
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

    /// A thread that waited for a permit was said to wait in what had received its request before: its stack still held the words of that.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_direct_call_of_something_else_contradicts_a_stack() {
        use crate::memory::RepeatingMemory;
        // call 0x300 bytes further on.
        let call = RepeatingMemory(&[0x90, 0xE8, 0, 3, 0, 0]);
        // A multiple of six, at which the memory repeats itself.
        let (back, target) = (0x40_0002, 0x40_0302);
        assert_eq!(call_target(&call, back), Some(target));
        let through_register = RepeatingMemory(&[0x90, 0x90, 0x90, 0x90, 0xFF, 0xD0]);
        assert_eq!(call_target(&through_register, back), None);
        // call [rip + 0]: the pointer stands behind it.
        let through_pointer = RepeatingMemory(&[0xFF, 0x15, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(call_target(&through_pointer, 14 * 100 + 6), Some(2));
        let frames = [target - 1, back - 1, 0x50_0000].map(Frame::Address).to_vec();
        let stack = Stack { frames, whole: true };
        assert_eq!(contradictions(&stack, &|at| call_target(&call, at)), 1);
        let frames = [target + 4, back - 1].map(Frame::Address).to_vec();
        assert_eq!(contradictions(&Stack { frames, whole: true }, &|at| call_target(&call, at)), 0);
    }
}
