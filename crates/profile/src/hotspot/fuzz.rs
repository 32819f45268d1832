//! A Java VM of arbitrary contents.

use super::layout::{CodeHeap, DataLocation, Layout, MethodListLocation};
use super::threads::ThreadFields;
use super::{HotSpot, StackPoint};
use crate::elf::HOTSPOT_TABLE;
use crate::memory::{ForeignMemory as _, RepeatingMemory};
use crate::runtime::Runtime as _;
use crate::runtime_names::RuntimeNames;

/// Terminates whatever is in memory, in the VM's tables and on the stack.
pub fn machine(bytes: &[u8]) {
    let memory = RepeatingMemory(bytes);
    let symbol = |name: &str, at| ([HOTSPOT_TABLE, name.as_bytes()].concat(), at);
    let named = [
        "Structs",
        "StructEntryArrayStride",
        "StructEntryTypeNameOffset",
        "StructEntryFieldNameOffset",
        "StructEntryOffsetOffset",
        "StructEntryAddressOffset",
        "Types",
        "TypeEntryArrayStride",
        "TypeEntryTypeNameOffset",
        "TypeEntrySizeOffset",
    ];
    let symbols: Vec<_> = (0..).step_by(8).zip(named).map(|(at, name)| symbol(name, at)).collect();
    let _ = Layout::of(&memory, &symbols, 0);
    // Offsets taken directly rather than read get further.
    let field = |number: u64| memory.word(8 * number).map_or(0, |word| word % 64);
    let lies = |number: u64| {
        if field(number) % 2 == 0 {
            DataLocation::Address(field(number))
        } else {
            DataLocation::Offset(field(number))
        }
    };
    let mut next = 15;
    let layout = Layout {
        heaps: vec![CodeHeap { range: 0x1000..0x10_0000, segments: field(1), shift: 4 }],
        block_bytes: 8,
        block_used: 4,
        blob_name: field(2),
        blob_size: field(3),
        frame_size: field(4),
        frame_complete: field(5),
        code: lies(6),
        method: field(7),
        entry: lies(8),
        pc_descs: field(9),
        scopes: lies(10),
        immutable_data: Some(field(11)).filter(|offset| *offset > 9),
        metadata: match field(12) % 3 {
            0 => MethodListLocation::Offset(field(13)),
            1 => MethodListLocation::BehindData(field(13), field(14)),
            _ => MethodListLocation::BehindRelocations(field(13), field(14)),
        },
        pool_source: Some(8),
        pool_bytes: 16,
        continuation: Some((0x1100, 64)),
        threads: Some(ThreadFields::any(|| {
            next += 1;
            field(next)
        })),
        ..Layout::default()
    };
    let mut machine = HotSpot::with(memory, layout);
    let word = |number| RepeatingMemory(bytes).word(number).unwrap_or(0);
    let (mut made, mut frames) = (RuntimeNames::default(), Vec::new());
    let _ = machine.last_java_frame(7);
    for instruction in [0x1000, 0x1000 + word(0) % 0xff000, 0x2345] {
        let mut at = StackPoint {
            instruction,
            stack: word(8) % 0x10_0000,
            frame: word(16) % 0x10_0000,
            link: word(24) % 2 * 0x1100,
            innermost: true,
            whole: true,
        };
        for _ in 0..100 {
            let Some(next) = machine.step(at, &|address| Some(word(address)), &mut made, &mut frames) else {
                break;
            };
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_says_anything() {
        let mut state = 1_u64;
        for length in 0..200 {
            let bytes: Vec<u8> = (0..4 * length)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    // Small numbers get further than arbitrary ones.
                    if state >> 63 == 0 { (state >> 40) as u8 & 7 } else { (state >> 40) as u8 }
                })
                .collect();
            machine(&bytes);
        }
    }
}
