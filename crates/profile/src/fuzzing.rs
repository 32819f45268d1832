//! Entry points for `fuzz/`: arbitrary bytes to all parsers of foreign input.

use crate::demangle::demangle;
use crate::elf::Elf;
use crate::perf_record::StackSample;
use crate::runtime_names::RuntimeNames;
use crate::unwind::{MAX_FRAMES, UnwindCache, Unwinder, unwind_module};
use crate::{hotspot, perf_record, python, symbol_lists, v8, waiting};

/// Where the program is mapped, and at how many code addresses unwinding starts.
const MAPPED: u64 = 0x1000;
const PLACES: u64 = 64;

/// Reads the bytes as ELF file, symbol list, perf record, memory of a Java VM, of a Python interpreter and
/// of V8, and waiting thread; and as names in all of them.
pub fn profile(bytes: &[u8]) {
    if let Ok(elf) = Elf::read(bytes) {
        let at = elf.address_of(0).unwrap_or(0);
        let _ = elf.symbols.find(at).map(|(_, name)| demangle(name));
        unwound(&elf, bytes);
    }
    for symbols in [symbol_lists::parse_kallsyms(bytes), symbol_lists::parse_perf_map(bytes)] {
        if let Some((at, name)) = symbols.find(u64::MAX / 2) {
            assert!(at <= u64::MAX / 2 && !name.is_empty());
            demangle(name);
        }
    }
    demangle(bytes);
    hotspot::fuzz::machine(bytes);
    python::fuzz::interpreter(bytes);
    v8::fuzz::heap(bytes);
    waiting::fuzz(bytes);
    for kind in 0..12 {
        if let Some(perf_record::PerfRecord::Sample(sample)) = perf_record::parse_record(kind, 0, bytes) {
            assert!(sample.kernel().count() + sample.user().count() <= bytes.len() / 8);
        }
    }
}

/// Unwinds arbitrary stacks through a program's code.
fn unwound(elf: &Elf, bytes: &[u8]) {
    let (mut unwinder, mut rules, mut made) =
        (Unwinder::default(), UnwindCache::default(), RuntimeNames::default());
    let Some(module) = unwind_module(MAPPED..0x10_0000, MAPPED, &elf.tables) else { return };
    unwinder.add_module(module);
    let code = elf.tables.text_svma.clone().unwrap_or(0..PLACES);
    let step = (code.end.saturating_sub(code.start) / PLACES).max(1);
    for place in 0..PLACES {
        let instruction = code.start.wrapping_add(place.wrapping_mul(step)).wrapping_add(MAPPED);
        let sample = StackSample::waiting(1, 1, instruction, 0x7000, bytes);
        let stack = unwinder.unwind(&sample, &mut rules, None, &mut made);
        assert!(stack.frames.len() <= MAX_FRAMES);
    }
}
