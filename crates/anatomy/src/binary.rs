use crate::elf::Elf;
use crate::{Architecture, Error};

/// A file that can be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executable {
    /// Machine code.
    Elf(Box<Binary>),
    /// A text run by an interpreter.
    Script(Script),
}

/// The first line of a script (execve(2)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The program that runs it.
    pub interpreter: String,
    /// The interpreter's first argument.
    pub argument: Option<String>,
}

/// How and when a program is linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// Self-contained, at fixed addresses.
    Static,
    /// Self-contained; relocates itself to where the kernel puts it.
    StaticPie,
    /// A loader adds its libraries when it is started.
    Dynamic {
        /// Position-independent.
        pie: bool,
    },
    /// A library.
    Library,
    /// Not linked yet.
    Object,
    /// Memory of a process that has ended.
    Core,
}

/// A function or variable that another file must define.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndefinedSymbol {
    /// As in C.
    pub name: String,
    /// Required symbol version.
    pub version: Option<String>,
    /// The library expected to define it; known only with a version.
    pub library: Option<String>,
    /// Weak: may stay undefined.
    pub weak: bool,
}

/// An ELF file: a program or a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// 32 or 64.
    pub bits: u8,
    /// Byte order of its numbers.
    pub big_endian: bool,
    /// Its architecture.
    pub machine: Architecture,
    /// How it is linked.
    pub kind: Linkage,
    /// The loader it requests.
    pub interpreter: Option<String>,
    /// The name by which others need it.
    pub soname: Option<String>,
    /// The libraries it needs, in order.
    pub needed: Vec<String>,
    /// Folders in which the loader looks for them.
    pub runpath: Option<String>,
    /// The older form of the same.
    pub rpath: Option<String>,
    /// Symbols it needs; none if the file does not say (it has no section headers).
    pub undefined: Option<Vec<UndefinedSymbol>>,
    /// Symbols it defines for others.
    pub exported: Vec<String>,
    /// It has its full symbol table; if not, it was stripped.
    pub has_symbols: bool,
    /// It has debug information.
    pub has_debug: bool,
    /// The linker's build ID.
    pub build_id: Option<Vec<u8>>,
    /// What could not be read.
    pub problems: Vec<String>,
}

/// Recognises and parses a file.
///
/// # Errors
/// If it is neither an ELF file nor a script, or its header is damaged.
pub fn read_executable(bytes: &[u8]) -> Result<Executable, Error> {
    match parse_script(bytes) {
        Some(script) => Ok(Executable::Script(script)),
        None => Ok(Executable::Elf(Box::new(binary_from_elf(Elf::read(bytes)?)?))),
    }
}

/// The kernel reads no further than this.
const LINE: usize = 256;

fn parse_script(bytes: &[u8]) -> Option<Script> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = line.get(..LINE).unwrap_or(line);
    let line = String::from_utf8_lossy(line);
    let (interpreter, argument) = match line.trim().split_once([' ', '\t']) {
        Some((interpreter, argument)) => (interpreter, Some(argument.trim().to_owned())),
        None => (line.trim(), None),
    };
    Some(Script { interpreter: interpreter.to_owned(), argument })
}

/// ELF file types.
const RELOCATABLE: u16 = 1;
const EXECUTABLE: u16 = 2;
const SHARED: u16 = 3;
const CORE: u16 = 4;

fn binary_from_elf(elf: Elf<'_>) -> Result<Binary, Error> {
    let kind = match elf.file_type {
        EXECUTABLE if elf.needs_loader || !elf.needed.is_empty() => Linkage::Dynamic { pie: false },
        EXECUTABLE => Linkage::Static,
        // The linker's PIE mark is newer than position-independent executables: without it, a soname
        // makes the file a library, and a loader a program.
        SHARED if elf.soname.is_some() && !elf.pie => Linkage::Library,
        SHARED if elf.needs_loader => Linkage::Dynamic { pie: true },
        SHARED if elf.pie => Linkage::StaticPie,
        SHARED => Linkage::Library,
        RELOCATABLE => Linkage::Object,
        CORE => Linkage::Core,
        other => return Err(Error::Broken { what: format!("its type is {other}, expected 1 to 4") }),
    };
    let defined =
        elf.dynamic_symbols.iter().flatten().filter(|s| s.defined && !s.local && !s.name.is_empty());
    let undefined = |symbols: &Vec<crate::elf::Symbol>| {
        let missing = symbols.iter().filter(|symbol| !symbol.defined && !symbol.name.is_empty());
        let one = |symbol: &crate::elf::Symbol| UndefinedSymbol {
            name: symbol.name.clone(),
            version: symbol.version.clone(),
            library: symbol.library.clone(),
            weak: symbol.weak,
        };
        missing.map(one).collect()
    };
    // An object file has its undefined symbols in its full table.
    let symbol_table = if kind == Linkage::Object { &elf.symbols } else { &elf.dynamic_symbols };
    let complete = elf.symbols.is_some() || elf.dynamic_symbols.is_some() || !elf.has_dynamic;
    Ok(Binary {
        bits: elf.bits,
        big_endian: elf.big_endian,
        machine: elf.machine,
        kind,
        exported: defined.map(|symbol| symbol.name.clone()).collect(),
        undefined: symbol_table.as_ref().map(undefined).or(complete.then(Vec::new)),
        has_symbols: elf.symbols.is_some(),
        has_debug: elf.has_debug,
        interpreter: elf.interpreter,
        soname: elf.soname,
        needed: elf.needed,
        runpath: elf.runpath,
        rpath: elf.rpath,
        build_id: elf.build_id,
        problems: elf.problems,
    })
}

impl Linkage {
    /// The machine-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::StaticPie => "static_pie",
            Self::Dynamic { .. } => "dynamic",
            Self::Library => "library",
            Self::Object => "object",
            Self::Core => "core",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts() {
        let script = |text: &str| match read_executable(text.as_bytes()) {
            Ok(Executable::Script(script)) => (script.interpreter, script.argument),
            other => panic!("{other:?}"),
        };
        assert_eq!(script("#!/bin/sh\necho"), ("/bin/sh".to_owned(), None));
        assert_eq!(script("#! /usr/bin/env -S a b"), ("/usr/bin/env".to_owned(), Some("-S a b".to_owned())));
        assert_eq!(script("#!"), (String::new(), None));
    }

    #[test]
    fn what_is_no_program() {
        let says = |bytes: &[u8]| read_executable(bytes).expect_err("it is none").to_string();
        assert!(says(b"").starts_with("an empty file: expected an ELF"), "{}", says(b""));
        assert!(says(b"hello\nworld").starts_with("a text file"));
        assert!(says(b"\x1f\x8b\x08\0").starts_with("a gzip archive"));
        assert!(says(b"\x7fELF").contains("ends within its first 5 bytes"));
        assert!(says(b"\x7fELF\x07").contains("its class is 7"));
        assert!(says(b"\x7fELF\x02\x01\x01\0\0\0").contains("its head"));
        assert!(says(&[0xff; 40]).starts_with("a file that begins with [ff, ff"));
    }
}
