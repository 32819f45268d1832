//! Where a machine keeps what. Every HotSpot machine brings tables of its own structures along for debuggers (`vmStructs.cpp` there), by
//! which this is found out in every version: the type, the field, and where it lies.

use super::tables::Tables;
use super::threads::ThreadFields;
use crate::memory::ForeignMemory;

/// Parts of the memory for code at most; there are three.
const MOST_HEAPS: u64 = 16;

/// A part of the memory for code.
#[derive(Debug, Clone)]
pub struct CodeHeap {
    /// All of its addresses, also of what is not used yet.
    pub place: std::ops::Range<u64>,
    /// A byte for each segment: how far back its code begins, or 0 for where it does.
    pub segments: u64,
    /// Size of a segment, as a power of two.
    pub shift: u32,
}

/// Where something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataLocation {
    /// The field has its address.
    Address(u64),
    /// The field has how far it is from where the fields begin.
    Offset(u64),
}

/// Where the methods of compiled code are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodListLocation {
    /// At an offset that this field has (until JDK 22).
    Offset(u64),
    /// At an offset of two bytes behind the data, whose offset the first has (JDK 23 and 24).
    BehindData(u64, u64),
    /// Behind the relocations, whose size the second field has, at the address that the first has (since JDK 25).
    BehindRelocations(u64, u64),
}

/// Offsets of fields, in bytes, unless said otherwise.
#[derive(Debug, Clone)]
#[cfg_attr(any(test, feature = "fuzzing"), derive(Default))]
pub struct Layout {
    pub heaps: Vec<CodeHeap>,
    /// Size of what stands before each piece of code,
    pub block_bytes: u64,
    /// and where it says that the piece is in use.
    pub block_used: u64,
    pub blob_name: u64,
    pub blob_size: u64,
    pub frame_size: u64,
    pub frame_complete: u64,
    pub code: DataLocation,
    pub method: u64,
    /// The entry, from where the code begins if it is an offset, which then has two bytes.
    pub entry: DataLocation,
    /// Two numbers of 4 bytes: where the table of places begins and ends.
    pub places: u64,
    pub scopes: DataLocation,
    /// What places and scopes count from, if not from the code's own fields.
    pub immutable: Option<u64>,
    pub metadata: MethodListLocation,
    pub const_method: u64,
    pub constants: u64,
    pub name_index: u64,
    pub code_size: u64,
    pub flags: u64,
    pub const_method_bytes: u64,
    pub pool_holder: u64,
    pub pool_source: Option<u64>,
    /// Until JDK 14 the class has it.
    pub class_source: Option<u64>,
    pub pool_length: u64,
    pub pool_bytes: u64,
    pub class_name: u64,
    pub symbol_length: u64,
    pub symbol_body: u64,
    /// What is subtracted from each byte of a packed number.
    pub unsigned_base: u32,
    /// Where what was called from outside returns to.
    pub call_stub_return: u64,
    /// Where threads are told of.
    pub threads: Option<ThreadFields>,
    /// Where what a virtual thread runs returns to, and the size of what it keeps about it there.
    pub continuation: Option<(u64, u64)>,
}

#[cfg(any(test, feature = "fuzzing"))]
impl Default for DataLocation {
    fn default() -> Self {
        Self::Offset(0)
    }
}

#[cfg(any(test, feature = "fuzzing"))]
impl Default for MethodListLocation {
    fn default() -> Self {
        Self::Offset(0)
    }
}

impl Layout {
    /// Of the machine in this memory, by the symbols of its library and how far that lies from where it states to be. None while it
    /// begins, and of one whose tables are not as expected.
    pub fn of<M: ForeignMemory>(memory: &M, symbols: &[(Vec<u8>, u64)], bias: u64) -> Option<Self> {
        let tables = Tables::read(memory, symbols, bias)?;
        let of = |kind: &str, field: &str| tables.offset(kind, field);
        let compiled = |field: &str| of("nmethod", field).or_else(|| of("CompiledMethod", field));
        let immutable = of("nmethod", "_immutable_data");
        let relocated = of("CodeBlob", "_mutable_data").zip(of("CodeBlob", "_relocation_size"));
        let metadata = match (relocated, immutable) {
            (Some((data, relocations)), _) => MethodListLocation::BehindRelocations(data, relocations),
            (None, Some(_)) => MethodListLocation::BehindData(
                of("CodeBlob", "_data_offset")?,
                of("nmethod", "_metadata_offset")?,
            ),
            _ => MethodListLocation::Offset(of("nmethod", "_metadata_offset")?),
        };
        let at_offset = |offset: Option<u64>, address: Option<u64>| {
            offset.map(DataLocation::Offset).or(address.map(DataLocation::Address))
        };
        let version = tables.known("Abstract_VM_Version", "_vm_major_version");
        let version = version.and_then(|address| memory.int(address)).unwrap_or(8);
        let returns = tables.known("ContinuationEntry", "_return_pc").and_then(|at| memory.word(at));
        Some(Self {
            heaps: heaps(&tables)?,
            block_bytes: tables.size("HeapBlock")?,
            block_used: of("HeapBlock::Header", "_used")?,
            blob_name: of("CodeBlob", "_name")?,
            blob_size: of("CodeBlob", "_size")?,
            frame_size: of("CodeBlob", "_frame_size")?,
            frame_complete: of("CodeBlob", "_frame_complete_offset")?,
            code: at_offset(of("CodeBlob", "_code_offset"), of("CodeBlob", "_code_begin"))?,
            method: compiled("_method")?,
            entry: at_offset(compiled("_verified_entry_offset"), compiled("_verified_entry_point"))?,
            places: compiled("_scopes_pcs_offset")?,
            scopes: at_offset(compiled("_scopes_data_offset"), compiled("_scopes_data_begin"))?,
            immutable,
            metadata,
            const_method: of("Method", "_constMethod")?,
            constants: of("ConstMethod", "_constants")?,
            name_index: of("ConstMethod", "_name_index")?,
            code_size: of("ConstMethod", "_code_size")?,
            flags: of("ConstMethod", "_flags").or_else(|| of("ConstMethod", "_flags._flags"))?,
            const_method_bytes: tables.size("ConstMethod")?,
            pool_holder: of("ConstantPool", "_pool_holder")?,
            pool_source: of("ConstantPool", "_source_file_name_index"),
            class_source: of("InstanceKlass", "_source_file_name_index"),
            pool_length: of("ConstantPool", "_length")?,
            pool_bytes: tables.size("ConstantPool")?,
            class_name: of("Klass", "_name")?,
            // Between JDK 9 and 14 it has the upper half of a word.
            symbol_length: of("Symbol", "_length")
                .or_else(|| Some(of("Symbol", "_length_and_refcount")?.wrapping_add(2)))?,
            symbol_body: of("Symbol", "_body")?,
            unsigned_base: u32::from(version >= 20),
            call_stub_return: memory.word(tables.known("StubRoutines", "_call_stub_return_address")?)?,
            threads: ThreadFields::of(&tables),
            continuation: returns.zip(tables.size("ContinuationEntry")),
        })
    }
}

/// The parts of the memory for code.
fn heaps<M: ForeignMemory>(tables: &Tables<'_, M>) -> Option<Vec<CodeHeap>> {
    let word = |address| tables.memory.word(address);
    let list: Vec<u64> = match tables.known("CodeCache", "_heaps") {
        Some(heaps) => {
            let list = word(heaps).filter(|list| *list != 0)?;
            let length = tables.offset("GrowableArrayBase", "_len");
            let length = length.or_else(|| tables.offset("GenericGrowableArray", "_len"))?;
            let count = u64::try_from(tables.memory.int(list.wrapping_add(length))?).ok()?.min(MOST_HEAPS);
            let first = word(list.wrapping_add(tables.offset("GrowableArray<int>", "_data")?))?;
            (0..count).map(|number| word(first.wrapping_add(8 * number))).collect::<Option<_>>()?
        }
        // JDK 8 has one.
        None => vec![word(tables.known("CodeCache", "_heap")?)?],
    };
    let (space, segments) = (tables.offset("CodeHeap", "_memory")?, tables.offset("CodeHeap", "_segmap")?);
    let shift = tables.offset("CodeHeap", "_log2_segment_size")?;
    let low = tables.offset("VirtualSpace", "_low_boundary")?;
    let high = tables.offset("VirtualSpace", "_high_boundary")?;
    let heaps = list.into_iter().map(|heap| {
        let bound = |part: u64, bound: u64| word(heap.wrapping_add(part).wrapping_add(bound));
        let place = bound(space, low)?..bound(space, high)?;
        let shift = u32::try_from(tables.memory.int(heap.wrapping_add(shift))?).ok()?;
        Some(CodeHeap { place, segments: bound(segments, low)?, shift }).filter(|_| shift < 32)
    });
    heaps.collect::<Option<Vec<_>>>().filter(|heaps| !heaps.is_empty())
}
