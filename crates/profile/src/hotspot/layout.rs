//! Layout of a Java VM's structures. Every HotSpot VM carries tables of its structures for debuggers
//! (`vmStructs.cpp`), which give type, field and offset in every version.

use super::tables::Tables;
use super::threads::ThreadFields;
use crate::memory::ForeignMemory;

/// Maximum code heaps; there are three.
const MAX_HEAPS: u64 = 16;

/// A code heap.
#[derive(Debug, Clone)]
pub struct CodeHeap {
    /// All addresses, including unused ones.
    pub range: std::ops::Range<u64>,
    /// Segment map, a byte each: how far back the code starts; 0 at its start.
    pub segments: u64,
    /// log2 of the segment size in bytes.
    pub shift: u32,
}

/// How a field locates data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataLocation {
    /// The field holds the address.
    Address(u64),
    /// The field holds the offset from the start of the fields.
    Offset(u64),
}

/// Where a compiled method's metadata list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodListLocation {
    /// At the offset in this field (until JDK 22).
    Offset(u64),
    /// At a 2-byte offset (second field) after the data, whose offset the first field holds (JDK 23 and
    /// 24).
    BehindData(u64, u64),
    /// After the relocations: address in the first field, size in the second (since JDK 25).
    BehindRelocations(u64, u64),
}

/// Field offsets in bytes, unless stated otherwise.
#[derive(Debug, Clone)]
#[cfg_attr(any(test, feature = "fuzzing"), derive(Default))]
pub struct Layout {
    pub heaps: Vec<CodeHeap>,
    /// Size of the header of a heap block,
    pub block_bytes: u64,
    /// and the offset of its in-use flag.
    pub block_used: u64,
    pub blob_name: u64,
    pub blob_size: u64,
    pub frame_size: u64,
    pub frame_complete: u64,
    pub code: DataLocation,
    pub method: u64,
    /// The entry point; as an offset from the start of the code it has two bytes.
    pub entry: DataLocation,
    /// Two 4-byte offsets: start and end of the PC descriptors.
    pub pc_descs: u64,
    pub scopes: DataLocation,
    /// Base of descriptors and scopes, if not the blob's own fields.
    pub immutable_data: Option<u64>,
    pub metadata: MethodListLocation,
    pub const_method: u64,
    pub constants: u64,
    pub name_index: u64,
    pub code_size: u64,
    pub flags: u64,
    pub const_method_bytes: u64,
    pub pool_holder: u64,
    pub pool_source: Option<u64>,
    /// In the class until JDK 14.
    pub class_source: Option<u64>,
    pub pool_length: u64,
    pub pool_bytes: u64,
    pub class_name: u64,
    pub symbol_length: u64,
    pub symbol_body: u64,
    /// Subtracted from each byte of a packed number.
    pub unsigned_base: u32,
    /// Return address of calls from outside the VM.
    pub call_stub_return: u64,
    pub threads: Option<ThreadFields>,
    /// Return address of a virtual thread's entry frame, and the size of the data kept there.
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
    /// Of the VM in this memory, from its library's symbols and load bias. None while it starts, or if its
    /// tables are not as expected.
    pub fn of<M: ForeignMemory>(memory: &M, symbols: &[(Vec<u8>, u64)], bias: u64) -> Option<Self> {
        let tables = Tables::read(memory, symbols, bias)?;
        let offset = |kind: &str, field: &str| tables.offset(kind, field);
        let compiled = |field: &str| offset("nmethod", field).or_else(|| offset("CompiledMethod", field));
        let immutable_data = offset("nmethod", "_immutable_data");
        let relocated = offset("CodeBlob", "_mutable_data").zip(offset("CodeBlob", "_relocation_size"));
        let metadata = match (relocated, immutable_data) {
            (Some((data, relocations)), _) => MethodListLocation::BehindRelocations(data, relocations),
            (None, Some(_)) => MethodListLocation::BehindData(
                offset("CodeBlob", "_data_offset")?,
                offset("nmethod", "_metadata_offset")?,
            ),
            _ => MethodListLocation::Offset(offset("nmethod", "_metadata_offset")?),
        };
        let at_offset = |offset: Option<u64>, address: Option<u64>| {
            offset.map(DataLocation::Offset).or(address.map(DataLocation::Address))
        };
        let version = tables.static_address("Abstract_VM_Version", "_vm_major_version");
        let version = version.and_then(|address| memory.int(address)).unwrap_or(8);
        let return_pc =
            tables.static_address("ContinuationEntry", "_return_pc").and_then(|at| memory.word(at));
        Some(Self {
            heaps: heaps(&tables)?,
            block_bytes: tables.size("HeapBlock")?,
            block_used: offset("HeapBlock::Header", "_used")?,
            blob_name: offset("CodeBlob", "_name")?,
            blob_size: offset("CodeBlob", "_size")?,
            frame_size: offset("CodeBlob", "_frame_size")?,
            frame_complete: offset("CodeBlob", "_frame_complete_offset")?,
            code: at_offset(offset("CodeBlob", "_code_offset"), offset("CodeBlob", "_code_begin"))?,
            method: compiled("_method")?,
            entry: at_offset(compiled("_verified_entry_offset"), compiled("_verified_entry_point"))?,
            pc_descs: compiled("_scopes_pcs_offset")?,
            scopes: at_offset(compiled("_scopes_data_offset"), compiled("_scopes_data_begin"))?,
            immutable_data,
            metadata,
            const_method: offset("Method", "_constMethod")?,
            constants: offset("ConstMethod", "_constants")?,
            name_index: offset("ConstMethod", "_name_index")?,
            code_size: offset("ConstMethod", "_code_size")?,
            flags: offset("ConstMethod", "_flags").or_else(|| offset("ConstMethod", "_flags._flags"))?,
            const_method_bytes: tables.size("ConstMethod")?,
            pool_holder: offset("ConstantPool", "_pool_holder")?,
            pool_source: offset("ConstantPool", "_source_file_name_index"),
            class_source: offset("InstanceKlass", "_source_file_name_index"),
            pool_length: offset("ConstantPool", "_length")?,
            pool_bytes: tables.size("ConstantPool")?,
            class_name: offset("Klass", "_name")?,
            // JDK 9 to 14 keep it in the upper half of a word.
            symbol_length: offset("Symbol", "_length")
                .or_else(|| Some(offset("Symbol", "_length_and_refcount")?.wrapping_add(2)))?,
            symbol_body: offset("Symbol", "_body")?,
            unsigned_base: u32::from(version >= 20),
            call_stub_return: memory
                .word(tables.static_address("StubRoutines", "_call_stub_return_address")?)?,
            threads: ThreadFields::of(&tables),
            continuation: return_pc.zip(tables.size("ContinuationEntry")),
        })
    }
}

fn heaps<M: ForeignMemory>(tables: &Tables<'_, M>) -> Option<Vec<CodeHeap>> {
    let word = |address| tables.memory.word(address);
    let list: Vec<u64> = match tables.static_address("CodeCache", "_heaps") {
        Some(heaps) => {
            let list = word(heaps).filter(|list| *list != 0)?;
            let length = tables.offset("GrowableArrayBase", "_len");
            let length = length.or_else(|| tables.offset("GenericGrowableArray", "_len"))?;
            let count = u64::try_from(tables.memory.int(list.wrapping_add(length))?).ok()?.min(MAX_HEAPS);
            let first = word(list.wrapping_add(tables.offset("GrowableArray<int>", "_data")?))?;
            (0..count).map(|number| word(first.wrapping_add(8 * number))).collect::<Option<_>>()?
        }
        // JDK 8 has one.
        None => vec![word(tables.static_address("CodeCache", "_heap")?)?],
    };
    let (space, segments) = (tables.offset("CodeHeap", "_memory")?, tables.offset("CodeHeap", "_segmap")?);
    let shift = tables.offset("CodeHeap", "_log2_segment_size")?;
    let low = tables.offset("VirtualSpace", "_low_boundary")?;
    let high = tables.offset("VirtualSpace", "_high_boundary")?;
    let heaps = list.into_iter().map(|heap| {
        let bound = |part: u64, bound: u64| word(heap.wrapping_add(part).wrapping_add(bound));
        let range = bound(space, low)?..bound(space, high)?;
        let shift = u32::try_from(tables.memory.int(heap.wrapping_add(shift))?).ok()?;
        Some(CodeHeap { range, segments: bound(segments, low)?, shift }).filter(|_| shift < 32)
    });
    heaps.collect::<Option<Vec<_>>>().filter(|heaps| !heaps.is_empty())
}
