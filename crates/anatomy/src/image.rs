use crate::elf::{Elf, Symbol};
use crate::{Architecture, Error, SymbolName, unwind_table};
use std::collections::BTreeMap;

/// What the loader puts into a memory slot through which code calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlotContent {
    /// The address of the symbol of this name.
    Symbol(String),
    /// An address in the same library.
    Address(u64),
    /// Chosen at run time by a function of the library.
    IndirectFunction,
}

/// A library (or a static program) with code that can be followed.
#[derive(Debug)]
pub struct Image<'a> {
    elf: Elf<'a>,
    functions: Vec<Function>,
    by_address: BTreeMap<u64, Vec<usize>>,
    /// Starts of functions without a name.
    function_starts: Vec<u64>,
    slots: BTreeMap<u64, SlotContent>,
}

#[derive(Debug)]
struct Function {
    name: SymbolName,
    address: u64,
    size: u64,
}

/// Relocations that give a slot the address of a symbol, one of the library itself, or one chosen at run time;
/// from the supplements of the System V ABI for x86-64 and aarch64.
const SYMBOL: [u32; 6] = [1, 6, 7, 257, 1025, 1026];
const RELATIVE: [u32; 2] = [8, 1027];
const IFUNC_RELOCATIONS: [u32; 2] = [37, 1032];

impl<'a> Image<'a> {
    /// Parses a library.
    ///
    /// # Errors
    /// If it is no ELF file, or of an unsupported architecture.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut elf = Elf::read(bytes)?;
        let machine = elf.machine;
        if ![Architecture::X86_64, Architecture::AARCH64].contains(&machine)
            || elf.bits != 64
            || elf.big_endian
        {
            let order = if elf.big_endian { ", big-endian" } else { "" };
            return Err(Error::Machine { found: format!("{machine}, {} bits{order}", elf.bits) });
        }
        let function_starts = elf
            .unwind_table
            .and_then(|at| Some(unwind_table::function_starts(elf.at(at)?, at, elf.big_endian)));
        let slots = slots(&elf);
        let dynamic = elf.dynamic_symbols.take().unwrap_or_default();
        let others = elf.symbols.take().unwrap_or_default();
        let mut image = Self {
            elf,
            functions: Vec::new(),
            by_address: BTreeMap::new(),
            function_starts: function_starts.unwrap_or_default(),
            slots,
        };
        image.add_symbols(dynamic, true);
        image.add_symbols(others, false);
        Ok(image)
    }

    /// Adds the names from a distribution's separate debug file.
    ///
    /// # Errors
    /// If that is no ELF file, or was not made for this library.
    pub fn add_names(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let names = Elf::read(bytes)?;
        if names.build_id.is_none() || names.build_id != self.elf.build_id {
            return Err(Error::OtherBuild);
        }
        self.add_symbols(names.symbols.unwrap_or_default(), false);
        Ok(())
    }

    fn add_symbols(&mut self, symbols: Vec<Symbol>, exported: bool) {
        for symbol in symbols {
            let is_defined = symbol.defined && symbol.function && !symbol.name.is_empty();
            let known = |at: &Vec<usize>| {
                at.iter().any(|n| self.functions.get(*n).is_some_and(|f| f.name.symbol == symbol.name))
            };
            // A full table repeats exported symbols, without versions or with them in the name.
            let twice = !exported
                && (symbol.name.contains('@') || self.by_address.get(&symbol.address).is_some_and(known));
            if !is_defined || twice {
                continue;
            }
            self.by_address.entry(symbol.address).or_default().push(self.functions.len());
            self.functions.push(Function {
                name: SymbolName {
                    symbol: symbol.name,
                    version: symbol.version,
                    default: symbol.default,
                    weak: symbol.weak,
                    exported: exported && !symbol.local,
                },
                address: symbol.address,
                size: symbol.size,
            });
        }
    }

    /// Its architecture.
    pub fn machine(&self) -> Architecture {
        self.elf.machine
    }

    /// The linker's build ID.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.elf.build_id.as_deref()
    }

    /// Converts a file offset to an address.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        self.elf.address_of(offset)
    }

    /// The address of the function that programs linked today get by this name: the default version before older ones,
    /// exported before local.
    pub(crate) fn find(&self, name: &str) -> Option<u64> {
        let named = self.functions.iter().filter(|f| f.name.symbol == name);
        named.max_by_key(|f| (f.name.exported, f.name.default)).map(|f| f.address)
    }

    /// The names of the function at this address, exported ones first.
    pub(crate) fn names(&self, address: u64) -> Vec<&SymbolName> {
        let there = self.by_address.get(&address).into_iter().flatten();
        let mut names: Vec<&SymbolName> = there.filter_map(|n| Some(&self.functions.get(*n)?.name)).collect();
        let private = |name: &SymbolName| name.version.as_deref() == Some("GLIBC_PRIVATE");
        let underscores = |name: &SymbolName| name.symbol.chars().take_while(|c| *c == '_').count();
        names.sort_by_key(|name| {
            (!name.exported, private(name), !name.default, underscores(name), name.symbol.len())
        });
        names
    }

    pub(crate) fn is_function_start(&self, address: u64) -> bool {
        self.by_address.contains_key(&address) || self.function_starts.binary_search(&address).is_ok()
    }

    /// Where the function that begins here ends, if known.
    pub(crate) fn function_end(&self, address: u64) -> Option<u64> {
        let there = self.by_address.get(&address)?;
        let sizes = there.iter().filter_map(|n| Some(self.functions.get(*n)?.size));
        sizes.max().filter(|size| *size > 0).and_then(|size| address.checked_add(size))
    }

    /// The code from this address on; none where there is none.
    pub(crate) fn code(&self, address: u64) -> Option<&'a [u8]> {
        self.elf.segments.iter().filter(|s| s.executable).find_map(|segment| segment.at(address))
    }

    pub(crate) fn slot_content(&self, address: u64) -> Option<SlotContent> {
        if let Some(slot) = self.slots.get(&address) {
            return Some(slot.clone());
        }
        // Without a relocation it stays as it is in the file.
        let content = u64::from_le_bytes(*self.elf.at(address)?.first_chunk()?);
        self.code(content).map(|_| SlotContent::Address(content))
    }
}

fn slots(elf: &Elf<'_>) -> BTreeMap<u64, SlotContent> {
    let symbols = elf.dynamic_symbols.as_deref().unwrap_or_default();
    let slot = |kind: u32, symbol: usize, addend: i64| match kind {
        _ if SYMBOL.contains(&kind) => Some(SlotContent::Symbol(symbols.get(symbol)?.name.clone())),
        _ if RELATIVE.contains(&kind) => Some(SlotContent::Address(addend.cast_unsigned())),
        _ if IFUNC_RELOCATIONS.contains(&kind) => Some(SlotContent::IndirectFunction),
        _ => None,
    };
    let all = elf.relocations.iter();
    all.filter_map(|r| Some((r.at, slot(r.kind, r.symbol, r.addend)?))).collect()
}
