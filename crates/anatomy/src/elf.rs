use crate::{Architecture, Error};
use object::read::elf::{
    Dyn, FileHeader, NoteIterator, ProgramHeader, Rela, SectionHeader, SectionTable, Sym, VersionTable,
};
use object::{Endianness, SymbolIndex, elf};

/// The parts of an ELF file needed here.
#[derive(Debug, Default)]
pub(crate) struct Elf<'a> {
    pub bits: u8,
    pub big_endian: bool,
    pub machine: Architecture,
    pub file_type: u16,
    /// Loaded segments, in file order.
    pub segments: Vec<Segment<'a>>,
    /// Address of the table for stack unwinding.
    pub unwind_table: Option<u64>,
    /// It names a loader, even if that cannot be read.
    pub needs_loader: bool,
    pub interpreter: Option<String>,
    pub has_dynamic: bool,
    pub needed: Vec<String>,
    pub runpath: Option<String>,
    pub rpath: Option<String>,
    pub soname: Option<String>,
    /// The linker has marked it as a position-independent executable.
    pub pie: bool,
    pub build_id: Option<Vec<u8>>,
    /// The loader's symbols; none without section headers.
    pub dynamic_symbols: Option<Vec<Symbol>>,
    /// The debugger's symbols; none if stripped.
    pub symbols: Option<Vec<Symbol>>,
    pub has_debug: bool,
    /// The loader's relocations.
    pub relocations: Vec<Relocation>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// A piece of the file and its load address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub address: u64,
    pub offset: u64,
    pub bytes: &'a [u8],
    pub executable: bool,
}

impl<'a> Segment<'a> {
    /// The bytes from this address on.
    pub fn at(&self, address: u64) -> Option<&'a [u8]> {
        let from = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(from..).filter(|rest| !rest.is_empty())
    }
}

/// A symbol of either table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub name: String,
    pub version: Option<String>,
    /// Programs linked today would get this version.
    pub default: bool,
    /// The library expected to define it, if undefined and named.
    pub library: Option<String>,
    pub defined: bool,
    pub function: bool,
    pub weak: bool,
    pub local: bool,
    pub address: u64,
    pub size: u64,
}

/// Tells the loader to write an address into memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relocation {
    pub at: u64,
    pub kind: u32,
    /// Index of a dynamic symbol.
    pub symbol: usize,
    pub addend: i64,
}

impl<'a> Elf<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(Error::NotElf { looks: guess_format(bytes) });
        }
        match bytes.get(4) {
            Some(1) => read::<elf::FileHeader32<Endianness>>(bytes, 32),
            Some(2) => read::<elf::FileHeader64<Endianness>>(bytes, 64),
            Some(class) => Err(broken(format!("its class is {class}, expected 1 (32 bits) or 2 (64 bits)"))),
            None => Err(broken("it ends within its first 5 bytes")),
        }
    }

    /// The loaded bytes from this address on.
    pub fn at(&self, address: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| segment.at(address))
    }

    /// Converts a file offset to an address.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = offset.checked_sub(segment.offset)?;
            (within < segment.bytes.len() as u64).then(|| segment.address.checked_add(within))?
        })
    }
}

fn broken(what: impl Into<String>) -> Error {
    Error::Broken { what: what.into() }
}

/// Guesses what a file that is not ELF is.
fn guess_format(bytes: &[u8]) -> String {
    let known: &[(&[u8], &str)] = &[
        (b"\x1f\x8b", "a gzip archive"),
        (b"PK\x03\x04", "a zip archive"),
        (b"!<arch>\n", "an archive of object files (a static library)"),
        (b"MZ", "a Windows program"),
        (b"\xca\xfe\xba\xbe", "a Java class or a macOS program"),
        (b"\xcf\xfa\xed\xfe", "a macOS program"),
        (b"\0asm", "a WebAssembly module"),
        (b"BC\xc0\xde", "LLVM bitcode"),
    ];
    if bytes.is_empty() {
        return "an empty file".to_owned();
    }
    if let Some((_, name)) = known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*name).to_owned();
    }
    let start = bytes.get(..16).unwrap_or(bytes);
    match std::str::from_utf8(start) {
        Ok(text) if !text.contains(|c: char| c.is_control() && !c.is_whitespace()) => {
            "a text file".to_owned()
        }
        _ => format!("a file that begins with {start:02x?}"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The header must be valid; other errors are reported beside what could be read.
fn read<'a, H: FileHeader<Endian = Endianness>>(bytes: &'a [u8], bits: u8) -> Result<Elf<'a>, Error> {
    let says = |what: &str, why: object::Error| broken(format!("{what}: {why}"));
    let head = H::parse(bytes).map_err(|why| says("its head", why))?;
    let endian = head.endian().map_err(|why| says("its head", why))?;
    let mut file = Elf {
        bits,
        big_endian: head.is_big_endian(),
        machine: Architecture(head.e_machine(endian).0),
        file_type: head.e_type(endian).0,
        ..Elf::default()
    };
    let parts = head.program_headers(endian, bytes).map_err(|why| says("its program headers", why))?;
    let mut dynamic: &[H::Dyn] = &[];
    for segment in parts {
        match segment.p_type(endian) {
            elf::PT_LOAD => file.load(segment, endian, bytes),
            elf::PT_INTERP => {
                file.needs_loader = true;
                match segment.interpreter(endian, bytes) {
                    Ok(name) => file.interpreter = name.map(text),
                    Err(why) => file.problems.push(format!("the name of its loader: {why}")),
                }
            }
            elf::PT_DYNAMIC => {
                file.has_dynamic = true;
                match segment.dynamic(endian, bytes) {
                    Ok(entries) => dynamic = entries.unwrap_or(&[]),
                    Err(why) => file.problems.push(format!("its table for the loader: {why}")),
                }
            }
            elf::PT_NOTE if file.build_id.is_none() => {
                let notes = segment.notes(endian, bytes).ok().flatten();
                file.build_id = notes.and_then(|notes| build_id::<H>(notes, endian));
            }
            elf::PT_GNU_EH_FRAME => file.unwind_table = Some(segment.p_vaddr(endian).into()),
            _ => {}
        }
    }
    file.dynamic::<H>(dynamic, endian);
    match head.sections(endian, bytes) {
        Ok(sections) => file.sections::<H>(&sections, endian, bytes),
        Err(why) => file.problems.push(format!("its sections: {why}")),
    }
    Ok(file)
}

fn build_id<H: FileHeader>(mut notes: NoteIterator<'_, H>, endian: H::Endian) -> Option<Vec<u8>> {
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"GNU" && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
            return Some(note.desc().to_vec());
        }
    }
    None
}

impl<'a> Elf<'a> {
    fn load<P: ProgramHeader<Endian = Endianness>>(
        &mut self,
        segment: &P,
        endian: Endianness,
        bytes: &'a [u8],
    ) {
        let Ok(content) = segment.data(endian, bytes) else {
            self.problems.push("a part that is to be loaded lies beyond the end of the file".to_owned());
            return;
        };
        self.segments.push(Segment {
            address: segment.p_vaddr(endian).into(),
            offset: segment.p_offset(endian).into(),
            bytes: content,
            executable: segment.p_flags(endian).contains(elf::PF_X),
        });
    }

    /// Reads the dynamic table as the loader does: by address, without section headers.
    fn dynamic<H: FileHeader<Endian = Endianness>>(&mut self, entries: &[H::Dyn], endian: Endianness) {
        let entries: Vec<(elf::DynamicTag, u64)> = entries
            .iter()
            .map(|entry| (entry.d_tag(endian), entry.d_val(endian).into()))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
            .collect();
        let strings = entries.iter().find(|(tag, _)| *tag == elf::DT_STRTAB).map(|(_, at)| *at);
        let string = |offset: u64| {
            let rest = strings?.checked_add(offset).and_then(|at| self.at(at))?;
            Some(text(rest.split(|byte| *byte == 0).next()?))
        };
        let mut unknown = 0;
        let (mut needed, mut runpath, mut rpath, mut soname, mut pie) = (Vec::new(), None, None, None, false);
        for &(tag, value) in &entries {
            match tag {
                elf::DT_NEEDED => match string(value) {
                    Some(name) => needed.push(name),
                    None => unknown += 1,
                },
                elf::DT_RUNPATH => runpath = string(value),
                elf::DT_RPATH => rpath = string(value),
                elf::DT_SONAME => soname = string(value),
                elf::DT_FLAGS_1 => pie = value & elf::DF_1_PIE.0 != 0,
                _ => {}
            }
        }
        if unknown > 0 {
            self.problems.push(format!("the names of {unknown} needed libraries lie outside of the file"));
        }
        (self.needed, self.runpath, self.rpath, self.soname, self.pie) =
            (needed, runpath, rpath, soname, pie);
    }

    fn sections<H: FileHeader<Endian = Endianness>>(
        &mut self,
        sections: &SectionTable<'a, H>,
        endian: Endianness,
        bytes: &'a [u8],
    ) {
        let versions = sections.versions(endian, bytes).unwrap_or_else(|why| {
            self.problems.push(format!("versions of its symbols: {why}"));
            None
        });
        self.dynamic_symbols = self.table::<H>(sections, elf::SHT_DYNSYM, versions.as_ref(), endian, bytes);
        self.symbols = self.table::<H>(sections, elf::SHT_SYMTAB, None, endian, bytes);
        self.has_debug = sections.section_by_name(endian, b".debug_info").is_some();
        for section in sections.iter() {
            // In a separate debug file nothing is where it would be loaded.
            if self.build_id.is_none() {
                let notes = section.notes(endian, bytes).ok().flatten();
                self.build_id = notes.and_then(|notes| build_id::<H>(notes, endian));
            }
            match section.rela(endian, bytes) {
                Ok(Some((entries, _))) => self.relocations.extend(entries.iter().map(|entry| Relocation {
                    at: entry.r_offset(endian).into(),
                    kind: entry.r_type(endian, false).0,
                    symbol: entry.r_sym(endian, false) as usize,
                    addend: entry.r_addend(endian).into(),
                })),
                Ok(None) => {}
                Err(why) => self.problems.push(format!("its relocations: {why}")),
            }
        }
    }

    fn table<H: FileHeader<Endian = Endianness>>(
        &mut self,
        sections: &SectionTable<'a, H>,
        kind: elf::SectionType,
        versions: Option<&VersionTable<'a, H>>,
        endian: Endianness,
        bytes: &'a [u8],
    ) -> Option<Vec<Symbol>> {
        let table = match sections.symbols(endian, bytes, kind) {
            Ok(table) if !table.is_empty() => table,
            Ok(_) => return None,
            Err(why) => {
                self.problems.push(format!("its symbols: {why}"));
                return None;
            }
        };
        let mut broken = 0;
        let symbols = table.enumerate().map(|(index, symbol)| {
            let name = table.symbol_name(endian, symbol).unwrap_or_else(|_| {
                broken += 1;
                b""
            });
            let (version, default, library) = version(versions, index, endian);
            let kind = symbol.st_type();
            Symbol {
                name: text(name),
                version,
                default,
                library,
                defined: !symbol.is_undefined(endian),
                function: kind == elf::STT_FUNC,
                weak: symbol.is_weak(),
                local: symbol.is_local(),
                address: symbol.st_value(endian).into(),
                size: symbol.st_size(endian).into(),
            }
        });
        let symbols = symbols.collect();
        if broken > 0 {
            self.problems.push(format!("the names of {broken} symbols lie outside of the file"));
        }
        Some(symbols)
    }
}

/// The symbol's version, whether it is the default, and the library expected to define it.
fn version<H: FileHeader>(
    versions: Option<&VersionTable<'_, H>>,
    symbol: SymbolIndex,
    endian: H::Endian,
) -> (Option<String>, bool, Option<String>) {
    let Some(versions) = versions else { return (None, true, None) };
    let index = versions.version_index(endian, symbol);
    let version = versions.version(index.index()).ok().flatten();
    (version.map(|v| text(v.name())), !index.is_hidden(), version.and_then(|v| v.file()).map(text))
}
