//! Any bytes give an answer.

use crate::elf_fixture;
use crate::elf_fixture::{library_aarch64, library_x86_64};
use anatomy::{Image, LoaderCache, dynamic_reasons, libc_version, read_executable};
use proptest::prelude::*;
use torment_anatomy as anatomy;

/// Everything that can be asked of a file.
fn read_all(bytes: &[u8]) {
    if let Ok(anatomy::Executable::Elf(binary)) = read_executable(bytes) {
        let _ = dynamic_reasons(&binary);
    }
    let _ = libc_version(bytes);
    let _ = LoaderCache::parse(bytes).paths("libc.so.6").count();
    let Ok(mut image) = Image::read(bytes) else { return };
    let _ = image.add_names(bytes);
    let _ = image.address_of(0x200);
    let images = [image];
    for symbol in ["fork", "posix_spawn", "loop", "clone"] {
        if let Ok(walk) = anatomy::find_syscall_paths(&images, symbol) {
            assert!(walk.instructions <= 300_000);
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read_all(&bytes);
        let after = |head: &[u8]| [head, &bytes].concat();
        read_all(&after(b"\x7fELF"));
        read_all(&after(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"));
        read_all(&after(b"\x7fELF\x01\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x08"));
        read_all(&after(b"#!"));
        read_all(&after(b"glibc-ld.so.cache1.1"));
        read_all(&after(b"ld.so-1.7.0\0"));
    }

    #[test]
    fn no_damage_is_too_great(
        arm in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut file = if arm { library_aarch64() } else { library_x86_64() };
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if cut {
            file.truncate(length.index(file.len() + 1));
        }
        read_all(&file);
    }

    /// Any words are code to decode, on both architectures.
    #[test]
    fn no_code_is_too_strange(code in prop::collection::vec(any::<u8>(), 4..400)) {
        for machine in [elf_fixture::X86_64, elf_fixture::AARCH64] {
            let size = code.len() as u64;
            let symbols = [("fork", elf_fixture::CODE, size), ("clone", elf_fixture::CODE + size / 8 * 4, 4)];
            let made = elf_fixture::ElfFixture {
                machine, code: &code, symbols: &symbols, relocations: &[], needed: &[], interpreter: None, flags: 0,
            };
            read_all(&made.file());
        }
    }
}
