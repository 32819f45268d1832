//! ELF files: function names and unwind tables.

use crate::go;
use crate::symbols::Symbols;
use crate::v8::METADATA;
use framehop::ExplicitModuleSectionInfo;
use object::elf::{FileHeader64, PF_X, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT};
use object::read::elf::{ElfFile, FileHeader as _, Sym, SymbolTable};
use object::{Endianness, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Maximum symbols per file; a browser has a million.
const MAX_SYMBOLS: usize = 4_000_000;
/// Maximum bytes of unwind tables per file.
const MAX_TABLES: u64 = 256 << 20;

/// Sections of a Go program's function table; the second in position-independent ones.
const GO_TABLES: [&str; 2] = [".gopclntab", ".data.rel.ro.gopclntab"];
/// Prefix of the symbols of a Java VM's own tables (HotSpot).
pub const HOTSPOT_TABLE: &[u8] = b"gHotSpotVM";
/// A Python interpreter's runtime state, and its version (3.11 and later).
pub const RUNTIME: &[u8] = b"_PyRuntime";
pub const VERSION: &[u8] = b"Py_Version";
/// Maximum symbols of a Java VM's tables; there are 24.
const MAX_OWN: usize = 100;
/// Maximum V8 metadata constants; there are 530.
const MAX_NUMBERS: usize = 2_000;

/// Largest page size of the architectures that torment runs on.
const LARGEST_PAGE: u64 = 64 << 10;

/// The parts kept of a file.
#[derive(Debug, Default)]
pub struct Elf {
    /// File ranges of executable segments, with their first address as the file states it.
    segments: Vec<(Range<u64>, u64)>,
    pub symbols: Symbols,
    /// Whether `symbols` holds all functions, not only exported ones.
    pub has_all_functions: bool,
    /// Identifies the debug file.
    pub build_id: Option<Vec<u8>>,
    pub tables: UnwindTables,
    /// Addresses of a Java VM's tables or a Python interpreter's state, by symbol.
    pub runtime_symbols: Vec<(Vec<u8>, u64)>,
    /// V8's debugger metadata constants, by name.
    pub v8_constants: Vec<(Vec<u8>, i32)>,
}

/// Unwind sections, each with its address as the file states it; of `.text` and `.got` the addresses only.
pub type UnwindTables = ExplicitModuleSectionInfo<Arc<[u8]>>;

/// Whether a program is Go's: it has Go's function table even if stripped.
pub fn is_go(program: &Path) -> bool {
    let Ok(file) = File::open(program) else { return false };
    let cache = ReadCache::new(file);
    // Reads only the section names.
    let is_one = || {
        let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, &cache).ok()?;
        GO_TABLES.iter().find(|name| sections.section_by_name(endian, name.as_bytes()).is_some())
    };
    is_one().is_some()
}

impl Elf {
    /// Reads the required parts of a 64-bit file, nothing more.
    ///
    /// Fails with a sentence saying what the file is instead.
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
            tables: unwind_tables(&file),
            ..Self::default()
        };
        elf.add(&file, file.elf_symbol_table());
        elf.has_all_functions = !elf.symbols.is_empty() || elf.add_go(&file);
        if !elf.has_all_functions {
            elf.add(&file, file.elf_dynamic_symbol_table());
        }
        elf.symbols.sort();
        Ok(elf)
    }

    /// Adds the functions of a symbol table. Reads all names at once.
    fn add<'d, R: ReadRef<'d>>(
        &mut self,
        file: &ElfFile<'d, FileHeader64<Endianness>, R>,
        table: &SymbolTable<'d, FileHeader64<Endianness>, R>,
    ) {
        let names = file.section_by_index(table.string_section()).ok();
        let names = names.filter(|names| names.size() <= MAX_TABLES);
        let Some(names) = names.and_then(|names| names.data().ok()) else { return };
        let endian = file.endian();
        for symbol in table.iter().take(MAX_SYMBOLS) {
            let is_function = matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC);
            let is_object = symbol.st_type() == STT_OBJECT;
            if !(is_function || is_object) || symbol.is_undefined(endian) {
                continue;
            }
            let rest = names.get(symbol.st_name(endian) as usize..).unwrap_or_default();
            // Objects are many; few matter here.
            if is_object && rest.starts_with(METADATA) {
                self.add_v8_constant(file, symbol.st_value(endian), rest);
                continue;
            }
            if is_object && ![HOTSPOT_TABLE, RUNTIME, VERSION].iter().any(|name| rest.starts_with(name)) {
                continue;
            }
            let Some(name) = rest.split(|byte| *byte == 0).next() else { continue };
            match is_function {
                true => self.symbols.add(symbol.st_value(endian), symbol.st_size(endian), name),
                false if self.runtime_symbols.len() < MAX_OWN => {
                    self.runtime_symbols.push((name.to_vec(), symbol.st_value(endian)));
                }
                false => {}
            }
        }
    }

    /// Adds the functions of a Go program; false if it is not one, or its table's version is unknown.
    fn add_go<'d>(&mut self, file: &impl Object<'d>) -> bool {
        let section = GO_TABLES.iter().find_map(|name| file.section_by_name(name));
        let table = section.filter(|table| table.size() <= MAX_TABLES).and_then(|table| table.data().ok());
        let text = self.tables.text_svma.as_ref().map_or(0, |text| text.start);
        table.is_some_and(|table| go::add_symbols(&mut self.symbols, table, text))
    }

    /// A 4-byte number that the file has at an address; zero-initialised data is not in the file and reads
    /// as 0.
    fn add_v8_constant<'d>(&mut self, file: &impl Object<'d>, address: u64, name: &[u8]) {
        let bytes = file.segments().find_map(|part| part.data_range(address, 4).ok().flatten());
        let number = bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, i32::from_le_bytes);
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        if self.v8_constants.len() < MAX_NUMBERS {
            self.v8_constants.push((name.to_vec(), number));
        }
    }

    /// The address of a symbol in `own`, as the file states it.
    pub fn symbol_address(&self, name: &[u8]) -> Option<u64> {
        self.runtime_symbols.iter().find(|(of, _)| of == name).map(|(_, address)| *address)
    }

    /// Takes over the names of a debug file, if it has any.
    pub fn take_names(&mut self, names: Self) {
        if names.has_all_functions {
            (self.symbols, self.has_all_functions) = (names.symbols, true);
        }
    }

    /// The address, as the file states it, of code mapped from this file offset. Mappings are page-aligned,
    /// so may begin before the segment.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let is_within = |part: &&(Range<u64>, u64)| part.0.contains(&offset);
        let begins = |part: &&(Range<u64>, u64)| {
            part.0.start.checked_sub(offset).is_some_and(|before| before < LARGEST_PAGE)
        };
        let part = self.segments.iter().find(is_within).or_else(|| self.segments.iter().find(begins));
        part.map(|(place, address)| address.wrapping_sub(place.start).wrapping_add(offset))
    }
}

fn unwind_tables<'d>(file: &impl Object<'d>) -> UnwindTables {
    let mut room = MAX_TABLES;
    let address_range = |name: &str| {
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
    // Of a Go program `.eh_frame` covers only what is written in C; its own code keeps frame pointers.
    let is_go = GO_TABLES.iter().any(|name| file.section_by_name(name).is_some());
    let described = address_range(".eh_frame").filter(|_| !is_go);
    let (eh_frame_svma, eh_frame) = described.zip(data(".eh_frame")).unzip();
    // Programs with `.eh_frame` need no other.
    let debug_frame = if eh_frame.is_none() { data(".debug_frame") } else { None };
    let index = address_range(".eh_frame_hdr").filter(|_| !is_go);
    let (eh_frame_hdr_svma, eh_frame_hdr) = index.zip(data(".eh_frame_hdr")).unzip();
    UnwindTables {
        text_svma: address_range(".text"),
        got_svma: address_range(".got"),
        eh_frame_svma,
        eh_frame,
        eh_frame_hdr_svma,
        eh_frame_hdr,
        debug_frame,
        ..UnwindTables::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program() {
        let bytes = std::fs::read("/proc/self/exe").expect("it is our own");
        let elf = Elf::read(bytes.as_slice()).expect("it is one");
        assert!(elf.has_all_functions && elf.tables.eh_frame.is_some(), "{:?}", elf.tables.text_svma);
        let text = elf.tables.text_svma.clone().expect("it has code");
        let at =
            elf.symbols.find(text.start + 0x1000).is_some() || elf.symbols.find(text.end - 0x1000).is_some();
        assert!(at, "some function is there");
        for length in [0, 4, 64, 4096, bytes.len() / 2] {
            let _ = Elf::read(&bytes[..length]);
        }
    }
}
