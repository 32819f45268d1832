//! Unwinding of code without unwind tables, by the runtime that generated it.

use crate::runtime_names::{Frame, RuntimeNames};

/// The state of one frame during unwinding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackPoint {
    /// Instruction pointer.
    pub instruction: u64,
    pub stack: u64,
    pub frame: u64,
    /// Return address, on architectures with a link register; 0: unknown, or on the stack.
    pub link: u64,
    /// Interrupted here, not calling anything.
    pub innermost: bool,
    /// No caller was skipped on the way here.
    pub whole: bool,
}

impl StackPoint {
    /// An address of the running code: a return address may lie just past the end of its function.
    pub fn within(self) -> u64 {
        self.instruction.wrapping_sub(u64::from(!self.innermost))
    }

    /// The caller whose return address is in this stack slot, with this frame pointer; none: not further up
    /// the stack.
    pub fn caller(self, place: u64, frame: u64, stack: &dyn Fn(u64) -> Option<u64>) -> Option<Self> {
        let next = Self {
            instruction: stack(place)?,
            stack: place.checked_add(8)?,
            frame,
            link: 0,
            innermost: false,
            whole: self.whole,
        };
        Some(next).filter(|next| next.stack > self.stack && next.instruction > 0)
    }
}

/// A runtime that generates code, such as a Java VM.
pub trait Runtime {
    /// Whether it may have code there.
    fn has(&self, address: u64) -> bool;

    /// Adds the frames at a point, innermost first, and returns the caller; none if it cannot be found.
    fn step(
        &mut self,
        at: StackPoint,
        stack: &dyn Fn(u64) -> Option<u64>,
        names: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint>;

    /// Names the frames added by address so far, at the end of the stack.
    fn end(&mut self, _names: &mut RuntimeNames, _frames: &mut Vec<Frame>) {}
}
