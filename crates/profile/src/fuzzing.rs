//! Readers of what others wrote, fed with any bytes by `fuzz/`.

use crate::elf::Elf;
use crate::made::OwnNames;
use crate::sample::StackSample;
use crate::unwind::{MOST_FRAMES, Rules, Unwinder, module};
use crate::written::written;
use crate::{hotspot, listed, python, sample, v8, waiting};

/// Where a program is mapped, and from how many places of its code stacks are followed.
const MAPPED: u64 = 0x1000;
const PLACES: u64 = 64;

/// A program or library, a list of functions, a record of the kernel, the memory of a Java machine, of a Python interpreter and of V8, a
/// thread that waits; and names in all of them.
pub fn profile(bytes: &[u8]) {
    if let Ok(elf) = Elf::read(bytes) {
        let at = elf.address_of(0).unwrap_or(0);
        let _ = elf.symbols.find(at).map(|(_, name)| written(name));
        unwound(&elf, bytes);
    }
    for symbols in [listed::kernel(bytes), listed::generated(bytes)] {
        if let Some((at, name)) = symbols.find(u64::MAX / 2) {
            assert!(at <= u64::MAX / 2 && !name.is_empty());
            written(name);
        }
    }
    written(bytes);
    hotspot::hostile::machine(bytes);
    python::hostile::interpreter(bytes);
    v8::hostile::heap(bytes);
    waiting::hostile(bytes);
    for kind in 0..12 {
        if let Some(sample::Told::Sample(sample)) = sample::read(kind, 0, bytes) {
            assert!(sample.kernel().count() + sample.user().count() <= bytes.len() / 8);
        }
    }
}

/// Stacks through the code of a program, with anything on them.
fn unwound(elf: &Elf, bytes: &[u8]) {
    let (mut unwinder, mut rules, mut made) = (Unwinder::default(), Rules::default(), OwnNames::default());
    let Some(module) = module(MAPPED..0x10_0000, MAPPED, &elf.tables) else { return };
    unwinder.add_module(module);
    let code = elf.tables.text.clone().unwrap_or(0..PLACES);
    let step = (code.end.saturating_sub(code.start) / PLACES).max(1);
    for place in 0..PLACES {
        let instruction = code.start.wrapping_add(place.wrapping_mul(step)).wrapping_add(MAPPED);
        let sample = StackSample::waiting(1, 1, instruction, 0x7000, bytes);
        let stack = unwinder.unwind(&sample, &mut rules, None, &mut made);
        assert!(stack.frames.len() <= MOST_FRAMES);
    }
}
