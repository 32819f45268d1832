//! Code memory is reused while the VM runs.

use super::layout::{CodeHeap, DataLocation, Layout};
use super::{HotSpot, StackPoint};
use crate::memory::ForeignMemory;
use crate::runtime::Runtime as _;
use crate::runtime_names::{Frame, RuntimeNames};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

#[derive(Clone)]
struct MutableMemory(Rc<RefCell<Vec<u8>>>);

impl MutableMemory {
    fn write(&self, at: usize, bytes: &[u8]) {
        self.0.borrow_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl ForeignMemory for MutableMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Option<()> {
        let from = usize::try_from(address).ok()?;
        into.copy_from_slice(self.0.borrow().get(from..from.checked_add(into.len())?)?);
        Some(())
    }
}

/// Two code pages with a blob each; the header holds its size, frame size, start of code, and name.
fn machine() -> (MutableMemory, HotSpot<MutableMemory>) {
    let memory = MutableMemory(Rc::new(RefCell::new(vec![0; 0x4000])));
    let layout = Layout {
        heaps: vec![CodeHeap { range: 0x1000..0x3000, segments: 0x3000, shift: 12 }],
        block_bytes: 8,
        block_used: 4,
        frame_size: 4,
        code: DataLocation::Offset(8),
        blob_name: 16,
        ..Layout::default()
    };
    for (page, name) in [(0x1000, 0x3100), (0x2000, 0x3200_u64)] {
        memory.write(page + 4, &[1]);
        memory.write(page + 8, &0xF00_u32.to_ne_bytes());
        memory.write(page + 24, &name.to_ne_bytes());
    }
    memory.write(0x3100, b"first\0");
    memory.write(0x3200, b"second\0");
    (memory.clone(), HotSpot::with(memory, layout))
}

fn runs(machine: &mut HotSpot<MutableMemory>, instruction: u64) -> Option<String> {
    let at = StackPoint { instruction, stack: 0, frame: 0, link: 0, innermost: true, whole: true };
    let (mut made, mut frames) = (RuntimeNames::default(), Vec::new());
    machine.step(at, &|_| None, &mut made, &mut frames);
    let [Frame::Named(frame)] = frames[..] else { return None };
    made.functions(frame).next().map(|function| function.name.clone())
}

#[test]
fn what_is_other_code_by_now_is_forgotten() {
    let (memory, mut machine) = machine();
    let both = |machine: &mut HotSpot<MutableMemory>| [0x1100, 0x2100].map(|at| runs(machine, at));
    let names = |first: &str, second: &str| [first, second].map(|name| Some(name.to_owned()));
    assert_eq!(both(&mut machine), names("first", "second"));
    memory.write(0x3300, b"third\0");
    memory.write(0x1000 + 24, &0x3300_u64.to_ne_bytes());
    machine.begin();
    assert_eq!(both(&mut machine), names("first", "second"), "it was looked at just now");
    machine.recheck_at = Instant::now();
    machine.begin();
    assert_eq!(both(&mut machine), names("third", "second"));
    assert!(machine.recheck_at > Instant::now(), "the next time is later");
}

#[test]
fn what_cannot_be_read_any_more_is_forgotten_too() {
    let (memory, mut machine) = machine();
    assert_eq!(runs(&mut machine, 0x1100).as_deref(), Some("first"));
    assert_eq!(runs(&mut machine, 0x2100).as_deref(), Some("second"));
    memory.0.borrow_mut().truncate(0x1800);
    machine.recheck_at = Instant::now();
    machine.begin();
    assert_eq!(runs(&mut machine, 0x1100).as_deref(), Some("first"));
    assert_eq!(runs(&mut machine, 0x2100), None);
}
