//! Code that has no tables by which its stacks are followed: whoever made it says how.

use crate::runtime_names::{Frame, RuntimeNames};

/// Where a stack is followed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackPoint {
    /// Where the code goes on.
    pub instruction: u64,
    /// The stack pointer there.
    pub stack: u64,
    /// The frame pointer.
    pub frame: u64,
    /// Where it returns to, on machines that keep it in a register; 0: not known, or it is on the stack.
    pub link: u64,
    /// It was interrupted there, and has not called anything.
    pub innermost: bool,
    /// No caller was missing on the way there.
    pub whole: bool,
}

impl StackPoint {
    /// An address of the code that runs there: a caller goes on behind its call, which may be its end.
    pub fn within(self) -> u64 {
        self.instruction.wrapping_sub(u64::from(!self.innermost))
    }

    /// The caller whose address is at this place of the stack, and whose frame pointer this is; none: it lies no further up.
    pub fn returned(self, place: u64, frame: u64, stack: &dyn Fn(u64) -> Option<u64>) -> Option<Self> {
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

/// A runtime that makes code while it runs, such as a Java machine.
pub trait Runtime {
    /// Whether it may have code there.
    fn has(&self, address: u64) -> bool;

    /// Adds what runs at a point of a stack, the innermost first, and gives where its caller goes on; none if that cannot be found.
    fn step(
        &mut self,
        at: StackPoint,
        stack: &dyn Fn(u64) -> Option<u64>,
        made: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint>;

    /// Names what was added by its address so far: the stack is followed no further.
    fn end(&mut self, _made: &mut RuntimeNames, _frames: &mut Vec<Frame>) {}
}
