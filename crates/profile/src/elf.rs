//! A program or library: what its functions are called, and how stacks are unwound through it.

use crate::go;
use crate::symbols::Symbols;
use crate::v8::METADATA;
use object::elf::{FileHeader64, PF_X, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT};
use object::read::elf::{ElfFile, FileHeader as _, Sym, SymbolTable};
use object::{Endianness, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Symbols of one file at most: a browser has a million.
const MOST_SYMBOLS: usize = 4_000_000;
/// Bytes of the tables for unwinding of one file at most.
const MOST_TABLES: u64 = 256 << 20;

/// Where a Go program has its table of functions, and where one has it that may be loaded anywhere.
const GO_TABLES: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// How the names of a Java machine's own tables begin (HotSpot).
pub const MACHINE_TABLE: &[u8] = b"gHotSpotVM";
/// Where a Python interpreter keeps all that it has, and which version it is (3.11 and later).
pub const RUNTIME: &[u8] = b"_PyRuntime";
pub const VERSION: &[u8] = b"Py_Version";
/// Tables of a Java machine at most; there are 24.
const MOST_OWN: usize = 100;
/// Numbers of V8 at most; there are 530.
const MOST_NUMBERS: usize = 2_000;

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
    /// Where a Java machine's own tables lie, or what a Python interpreter says of itself, by their names.
    pub own: Vec<(Vec<u8>, u64)>,
    /// What V8 has for debuggers: numbers, by their names.
    pub v8: Vec<(Vec<u8>, i32)>,
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

/// Whether a program is Go's: it carries the table of its functions, whatever was stripped.
pub fn is_go(program: &Path) -> bool {
    let Ok(file) = File::open(program) else { return false };
    let cache = ReadCache::new(file);
    // Only the names of its sections are read.
    let is_one = || {
        let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, &cache).ok()?;
        GO_TABLES.iter().find(|name| sections.section_by_name(endian, name.as_bytes()).is_some())
    };
    is_one().is_some()
}

impl Elf {
    /// Reads what is needed of a file of 64 bits, and no more of it.
    ///
    /// Fails with a sentence of what it is instead.
    pub fn read<'d>(data: impl ReadRef<'d>) -> Result<Self, String> {
        let file = ElfFile::<FileHeader64<Endianness>, _>::parse(data)
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
        elf.add(&file, file.elf_symbol_table());
        elf.has_all = !elf.symbols.is_empty() || elf.add_go(&file);
        if !elf.has_all {
            elf.add(&file, file.elf_dynamic_symbol_table());
        }
        elf.symbols.sort();
        Ok(elf)
    }

    /// The functions of a table. All of their names are read at once, not one by one.
    fn add<'d, R: ReadRef<'d>>(
        &mut self,
        file: &ElfFile<'d, FileHeader64<Endianness>, R>,
        table: &SymbolTable<'d, FileHeader64<Endianness>, R>,
    ) {
        let names = file.section_by_index(table.string_section()).ok();
        let names = names.filter(|names| names.size() <= MOST_TABLES);
        let Some(names) = names.and_then(|names| names.data().ok()) else { return };
        let endian = file.endian();
        for symbol in table.iter().take(MOST_SYMBOLS) {
            let is_function = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
            let is_object = symbol.st_type() == STT_OBJECT;
            if !(is_function || is_object) || symbol.is_undefined(endian) {
                continue;
            }
            let rest = names.get(symbol.st_name(endian) as usize..).unwrap_or_default();
            // Of most there are many, and they say nothing here.
            if is_object && rest.starts_with(METADATA) {
                self.add_number(file, symbol.st_value(endian), rest);
                continue;
            }
            if is_object && ![MACHINE_TABLE, RUNTIME, VERSION].iter().any(|name| rest.starts_with(name)) {
                continue;
            }
            let Some(name) = rest.split(|byte| *byte == 0).next() else { continue };
            match is_function {
                true => self.symbols.add(symbol.st_value(endian), symbol.st_size(endian), name),
                false if self.own.len() < MOST_OWN => {
                    self.own.push((name.to_vec(), symbol.st_value(endian)));
                }
                false => {}
            }
        }
    }

    /// The functions of a Go program; false if it is none, or has no table that is known.
    fn add_go<'d>(&mut self, file: &impl Object<'d>) -> bool {
        let section = GO_TABLES.iter().find_map(|name| file.section_by_name(name));
        let table = section.filter(|table| table.size() <= MOST_TABLES).and_then(|table| table.data().ok());
        let text = self.tables.text.as_ref().map_or(0, |text| text.start);
        table.is_some_and(|table| go::add_symbols(&mut self.symbols, table, text))
    }

    /// A number of 4 bytes that the file has at an address; one that only memory has is 0 at first.
    fn add_number<'d>(&mut self, file: &impl Object<'d>, address: u64, name: &[u8]) {
        let bytes = file.segments().find_map(|part| part.data_range(address, 4).ok().flatten());
        let number = bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_le_bytes);
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if self.v8.len() < MOST_NUMBERS {
            self.v8.push((name.to_vec(), number));
        }
    }

    /// Where something of its own lies, as the file states it.
    pub fn symbol_address(&self, name: &[u8]) -> Option<u64> {
        self.own.iter().find(|(of, _)| of == name).map(|(_, address)| *address)
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
        let elf = Elf::read(bytes.as_slice()).expect("it is one");
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
