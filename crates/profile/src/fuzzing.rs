//! Readers of what others wrote, fed with any bytes by `fuzz/`.

use crate::elf::Elf;
use crate::unwind::module;
use crate::written::written;
use crate::{hotspot, listed, python, sample, waiting};

/// A program or library, a list of functions, a record of the kernel, the memory of a Java machine and of a Python interpreter, a
/// thread that waits; and names in all of them.
pub fn profile(bytes: &[u8]) {
    if let Ok(elf) = Elf::read(bytes) {
        let at = elf.address_of(0).unwrap_or(0);
        let _ = elf.symbols.find(at).map(|(_, name)| written(name));
        let _ = module(0x1000..0x10_0000, 0, &elf.tables);
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
    waiting::hostile(bytes);
    for kind in 0..12 {
        if let Some(sample::Told::Sample(sample)) = sample::read(kind, 0, bytes) {
            assert!(sample.kernel().count() + sample.user().count() <= bytes.len() / 8);
        }
    }
}
