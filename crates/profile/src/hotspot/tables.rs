//! The tables of its own structures that every HotSpot VM carries for debuggers (`vmStructs.cpp`).

use crate::elf::HOTSPOT_TABLE;
use crate::memory::ForeignMemory;
use std::collections::HashMap;

/// Maximum entries per table; there are some 2,000.
const MAX_ENTRIES: u64 = 6_000;

#[derive(Debug, Clone, Copy)]
struct Field {
    offset: u64,
    /// Of a static field.
    address: u64,
}

pub(super) struct Tables<'m, M> {
    pub memory: &'m M,
    /// By type and field name.
    fields: HashMap<(String, String), Field>,
    /// Size of each type in bytes.
    sizes: HashMap<String, u64>,
}

impl<'m, M: ForeignMemory> Tables<'m, M> {
    pub fn read(memory: &'m M, symbols: &[(Vec<u8>, u64)], bias: u64) -> Option<Self> {
        let read_symbol = |name: &str| {
            let is_it = |(of, _): &&(Vec<u8>, u64)| of.strip_prefix(HOTSPOT_TABLE) == Some(name.as_bytes());
            let (_, address) = symbols.iter().find(is_it)?;
            memory.word(address.wrapping_add(bias))
        };
        let mut tables = Self { memory, fields: HashMap::new(), sizes: HashMap::new() };
        let [kind, field, offset, address] = ["TypeName", "FieldName", "Offset", "Address"]
            .map(|name| read_symbol(&format!("StructEntry{name}Offset")));
        let (kind, field, offset, address) = (kind?, field?, offset?, address?);
        let stride = |name: &str| read_symbol(name).filter(|stride| *stride > 0);
        let (first, every) = (read_symbol("Structs")?, stride("StructEntryArrayStride")?);
        for entry in (0..MAX_ENTRIES).map(|number| first.wrapping_add(number.wrapping_mul(every))) {
            let at = |field: u64| memory.word(entry.wrapping_add(field));
            let (Some(kind @ 1..), Some(field @ 1..)) = (at(kind), at(field)) else { break };
            let name = (memory.text(kind)?, memory.text(field)?);
            tables.fields.insert(name, Field { offset: at(offset)?, address: at(address)? });
        }
        let (first, every) = (read_symbol("Types")?, stride("TypeEntryArrayStride")?);
        let (kind, size) = (read_symbol("TypeEntryTypeNameOffset")?, read_symbol("TypeEntrySizeOffset")?);
        for entry in (0..MAX_ENTRIES).map(|number| first.wrapping_add(number.wrapping_mul(every))) {
            let Some(name @ 1..) = memory.word(entry.wrapping_add(kind)) else { break };
            tables.sizes.insert(memory.text(name)?, memory.word(entry.wrapping_add(size))?);
        }
        Some(tables)
    }

    fn field(&self, kind: &str, field: &str) -> Option<Field> {
        self.fields.get(&(kind.to_owned(), field.to_owned())).copied()
    }

    /// Offset of a field in its type.
    pub fn offset(&self, kind: &str, field: &str) -> Option<u64> {
        self.field(kind, field).map(|field| field.offset)
    }

    /// Address of a static field.
    pub fn static_address(&self, kind: &str, field: &str) -> Option<u64> {
        self.field(kind, field).map(|field| field.address)
    }

    pub fn size(&self, kind: &str) -> Option<u64> {
        self.sizes.get(kind).copied()
    }
}
