//! An interpreter of arbitrary contents.

use super::{Interpreter, InterpreterCode};
use crate::memory::{ForeignMemory as _, RepeatingMemory};
use crate::runtime_names::{Frame, RuntimeNames};
use crate::unwind::Stack;

/// Terminates whatever is in memory, for each version, and never exceeds the maximum stack length.
pub fn interpreter(bytes: &[u8]) {
    let memory = RepeatingMemory(bytes);
    let word = |at| memory.word(at).unwrap_or(0);
    // One that describes itself does so at the start.
    let Some(mut interpreter) = Interpreter::of(memory, 0, Some(8 + word(8) % 6)) else { return };
    let code = InterpreterCode { module: 0x1000..0x2000, loops: vec![0x1100..0x1180, 0x1180..0x1200] };
    let frames = [0x3000, 0x1000, 0x1100, 0x1000, 0x4000].map(Frame::Address).to_vec();
    let mut stack = Stack { frames, whole: word(16) % 2 == 0 };
    interpreter.replace_frames(&mut stack, word(24) as u32, &code, &mut RuntimeNames::default());
    assert!(stack.frames.len() <= super::MAX_FRAMES + 5);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_that_says_anything() {
        let mut state = 1_u64;
        for length in 0..40 {
            let bytes: Vec<u8> = (0..4 * length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // Small numbers get further than arbitrary ones.
                    if state >> 62 < 3 { (state >> 40) as u8 & 7 } else { (state >> 40) as u8 }
                })
                .collect();
            interpreter(&bytes);
        }
    }
}
