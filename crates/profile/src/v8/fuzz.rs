//! A heap of arbitrary contents.

use super::layout::StringLayout;
use super::{Layout, V8, V8Code, V8Runtime};
use crate::memory::{ForeignMemory as _, RepeatingMemory};
use crate::runtime::{Runtime as _, StackPoint};
use crate::runtime_names::{Frame, RuntimeNames};

/// Maximum steps through an endless stack.
const STEPS: usize = 100;

/// Terminates whatever is in memory and on the stack; each step adds at most a frame and its callee.
pub fn heap(bytes: &[u8]) {
    let word = |number: u64| RepeatingMemory(bytes).word(8 * number).unwrap_or(0);
    let metadata: Vec<_> = bytes.chunks_exact(8).map(|entry| (entry.to_vec(), 1)).collect();
    assert_eq!(Layout::of(&metadata), None, "there is no plain number among them");
    // Few types, so that objects often have the expected one.
    let kind = |number| (word(number) % 4) as u16;
    let field = |number| word(number) % 6 * 8;
    let strings = StringLayout {
        first_non_string: 3,
        representation_mask: 3,
        cons: kind(0),
        external: kind(1),
        slice: kind(2),
        thin: kind(3),
        length: 4,
        characters: 8,
        first: field(0),
        second: field(1),
        resource: field(2),
        parent: field(3),
        offset: field(4),
        actual: field(5),
        ..StringLayout::default()
    };
    let layout = Layout {
        function: -16,
        frame_type: -8,
        wasm: Some(word(5) % 4),
        regexp: None,
        shared: field(6),
        name: field(7),
        script: field(8),
        token: field(9),
        map_type: field(10),
        shared_type: kind(11),
        scope_type: kind(12),
        script_type: kind(13),
        script_name: field(14),
        source: field(15),
        scope_head: 3 + word(16) % 4,
        has_position: word(17) % 2 == 0,
        strings,
    };
    let mut v8 = V8::with(RepeatingMemory(bytes), layout);
    let code = |address: u64| match address % 4 {
        0 => Some(V8Code::Interpreter),
        1 => Some(V8Code::Builtin),
        _ => Some(V8Code::Generated),
    };
    let mut running = V8Runtime { v8: &mut v8, code: &code };
    let (mut made, mut frames) = (RuntimeNames::default(), Vec::new());
    let (stack, frame) = (word(1) % 0x10_0000, word(2) % 0x10_0000);
    let mut at = StackPoint { instruction: word(3), stack, frame, link: 0, innermost: true, whole: true };
    for _ in 0..STEPS {
        let on_stack = |address: u64| RepeatingMemory(bytes).word(address);
        let Some(next) = running.step(at, &on_stack, &mut made, &mut frames) else { break };
        assert!(next.stack > at.stack, "it leads up");
        at = next;
    }
    running.end(&mut made, &mut frames);
    assert!(frames.len() <= 2 * (STEPS + 1));
    assert!(
        frames.iter().all(|frame| !matches!(frame, Frame::Named(of) if made.functions(*of).count() != 1))
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_that_says_anything() {
        let mut state = 1_u64;
        for length in 0..400 {
            let bytes: Vec<u8> = (0..4 * (length % 100))
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // Small numbers get further than arbitrary ones.
                    if state >> 62 < 3 { (state >> 40) as u8 & 7 } else { (state >> 40) as u8 }
                })
                .collect();
            heap(&bytes);
        }
    }
}
