//! A program or library: what its functions are called, and how stacks are unwound through it.

use crate::symbols::Symbols;
use object::elf::PF_X;
use object::read::elf::ElfFile;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SegmentFlags, SymbolKind};
use std::ops::Range;
use std::sync::Arc;

/// Symbols of one file at most: a browser has a million.
const MOST_SYMBOLS: usize = 4_000_000;
/// Bytes of the tables for unwinding of one file at most.
const MOST_TABLES: u64 = 256 << 20;

/// No machine that torment runs on has larger ones.
const LARGEST_PAGE: u64 = 64 << 10;

/// What is kept of a file.
#[derive(Debug, Default)]
pub struct Elf {
    /// Where its parts with code lie in the file, and their first address as the file states it.
    segments: Vec<(Range<u64>, u64)>,
    /// Its functions.
    pub symbols: Symbols,
    /// Whether these are all of them, and not only those that other files may call.
    pub has_all: bool,
    /// By it the file of its names is found.
    pub build_id: Option<Vec<u8>>,
    /// How stacks are unwound through it.
    pub tables: UnwindTables,
}

/// How stacks are unwound: sections, each with its address as the file states it.
#[derive(Debug, Clone, Default)]
pub struct UnwindTables {
    /// `.text`; only where it lies.
    pub text: Option<Range<u64>>,
    /// `.got`; only where it lies.
    pub got: Option<Range<u64>>,
    /// `.eh_frame`.
    pub frames: Option<(Range<u64>, Arc<[u8]>)>,
    /// `.eh_frame_hdr`, the index of the former.
    pub index: Option<(Range<u64>, Arc<[u8]>)>,
    /// `.debug_frame`, where the former are missing.
    pub debug_frames: Option<Arc<[u8]>>,
}

impl Elf {
    /// Reads what is needed of a file of 64 bits.
    ///
    /// Fails with a sentence of what it is instead.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let file = ElfFile::<object::elf::FileHeader64<object::Endianness>>::parse(bytes)
            .map_err(|why| format!("not an ELF file of 64 bits: {why}"))?;
        let segments = file.segments().filter_map(|part| {
            let (offset, size) = part.file_range();
            let is_code = matches!(part.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X));
            is_code.then_some((offset..offset.checked_add(size)?, part.address()))
        });
        let mut elf = Self {
            segments: segments.collect(),
            build_id: file.build_id().ok().flatten().map(<[u8]>::to_vec),
            tables: UnwindTables::of(&file),
            ..Self::default()
        };
        elf.add(file.symbols());
        elf.has_all = !elf.symbols.is_empty();
        if !elf.has_all {
            elf.add(file.dynamic_symbols());
        }
        elf.symbols.order();
        Ok(elf)
    }

    fn add<'d>(&mut self, symbols: impl Iterator<Item = impl ObjectSymbol<'d>>) {
        for symbol in symbols.take(MOST_SYMBOLS) {
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() {
                continue;
            }
            if let Ok(name) = symbol.name_bytes() {
                self.symbols.add(symbol.address(), symbol.size(), name);
            }
        }
    }

    /// Takes the names over from a file of them, if that has any.
    pub fn take_names(&mut self, names: Self) {
        if names.has_all {
            (self.symbols, self.has_all) = (names.symbols, true);
        }
    }

    /// The address, as the file states it, of code that is mapped from this place of the file on. A mapping begins with a page, and so
    /// before the part that it is for, if that does not.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let is_within = |part: &&(Range<u64>, u64)| part.0.contains(&offset);
        let begins = |part: &&(Range<u64>, u64)| {
            part.0.start.checked_sub(offset).is_some_and(|before| before < LARGEST_PAGE)
        };
        let part = self.segments.iter().find(is_within).or_else(|| self.segments.iter().find(begins));
        part.map(|(place, address)| address.wrapping_sub(place.start).wrapping_add(offset))
    }
}

impl UnwindTables {
    fn of<'d>(file: &impl Object<'d>) -> Self {
        let mut room = MOST_TABLES;
        let place = |name: &str| {
            let section = file.section_by_name(name)?;
            Some(section.address()..section.address().checked_add(section.size())?)
        };
        let mut data = |name: &str| -> Option<Arc<[u8]>> {
            let section = file.section_by_name(name)?;
            let is_plain = section
                .compressed_file_range()
                .is_ok_and(|range| range.format == object::CompressionFormat::None);
            let bytes = section.data().ok().filter(|_| is_plain)?;
            room = room.checked_sub(bytes.len() as u64)?;
            (!bytes.is_empty()).then(|| bytes.into())
        };
        let frames = place(".eh_frame").zip(data(".eh_frame"));
        let debug_frames = if frames.is_none() { data(".debug_frame") } else { None };
        Self {
            text: place(".text"),
            got: place(".got"),
            index: place(".eh_frame_hdr").zip(data(".eh_frame_hdr")),
            frames,
            debug_frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program() {
        let bytes = std::fs::read("/proc/self/exe").expect("it is our own");
        let elf = Elf::read(&bytes).expect("it is one");
        assert!(elf.has_all && elf.tables.frames.is_some(), "{:?}", elf.tables.text);
        let text = elf.tables.text.clone().expect("it has code");
        let at =
            elf.symbols.find(text.start + 0x1000).is_some() || elf.symbols.find(text.end - 0x1000).is_some();
        assert!(at, "some function is there");
        for length in [0, 4, 64, 4096, bytes.len() / 2] {
            let _ = Elf::read(&bytes[..length]);
        }
    }
}
