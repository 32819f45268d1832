//! Layout of V8's structures, from the metadata that its programs carry for post-mortem debuggers
//! (`gen-postmortem-metadata.py`): constants named `v8dbg_…`.

pub const METADATA: &[u8] = b"v8dbg_";

/// Scope fields before the variable names, if these include the function's position.
const POSITION_FIELDS: i64 = 5;

/// Field offsets in bytes, and the meaning of constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// From a frame pointer: the function,
    pub function: i64,
    /// and, in the slot of a function's context, the frame type of other frames.
    pub frame_type: i64,
    /// Types of such frames: WebAssembly and regular expressions, which some versions lack.
    pub wasm: Option<u64>,
    pub regexp: Option<u64>,
    /// Function: the `SharedFunctionInfo`,
    pub shared: u64,
    /// and in that: its name or scope,
    pub name: u64,
    /// its script,
    pub script: u64,
    /// and the distance from its first token to its start.
    pub token: u64,
    /// Map: the instance type.
    pub map_type: u64,
    pub shared_type: u16,
    pub scope_type: u16,
    pub script_type: u16,
    /// Script: its name,
    pub script_name: u64,
    /// and its source.
    pub source: u64,
    /// Scope fields before the variable names,
    pub scope_head: u64,
    /// and whether the function's position is among them.
    pub has_position: bool,
    pub strings: StringLayout,
}

/// Strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StringLayout {
    /// Instance types from here on are not strings.
    pub first_non_string: u16,
    /// Parts of an instance type: representation,
    pub representation_mask: u16,
    pub cons: u16,
    pub external: u16,
    pub slice: u16,
    pub thin: u16,
    /// and whether characters have one byte.
    pub encoding_mask: u16,
    pub one_byte: u16,
    /// Field offsets.
    pub length: u64,
    pub characters: u64,
    pub first: u64,
    pub second: u64,
    pub resource: u64,
    pub parent: u64,
    pub offset: u64,
    pub actual: u64,
}

impl Layout {
    /// From a program's metadata; none if a constant is missing, or pointers are compressed (as in
    /// browsers).
    pub fn of(metadata: &[(Vec<u8>, i32)]) -> Option<Self> {
        let find = |name: &str| {
            let is = |known: &[u8]| known.strip_prefix(METADATA) == Some(name.as_bytes());
            metadata.iter().find(|(known, _)| is(known)).map(|(_, number)| i64::from(*number))
        };
        // A field's name is followed by its type, which differs between versions.
        let field = |class: &str, field: &str| {
            let start = format!("class_{class}__{field}__");
            let is = |known: &[u8]| {
                known.strip_prefix(METADATA).is_some_and(|known| known.starts_with(start.as_bytes()))
            };
            metadata.iter().find(|(known, _)| is(known)).and_then(|(_, number)| u64::try_from(*number).ok())
        };
        let kind = |name: &str| find(name).and_then(|number| u64::try_from(number).ok());
        let bits = |name: &str| find(name).and_then(|number| u16::try_from(number).ok());
        let is_plain = find("TaggedSize")? == 8 && find("SmiShiftSize")? == 31 && find("HeapObjectTag")? == 1;
        let scope_head = find("scopeinfo_idx_first_vars")?;
        let shared = |name: &str| field("SharedFunctionInfo", name);
        is_plain.then_some(())?;
        Some(Self {
            function: find("off_fp_function")?,
            frame_type: find("off_fp_context_or_frame_type")?,
            wasm: kind("frametype_WasmFrame"),
            regexp: kind("frametype_IrregexpFrame"),
            shared: field("JSFunction", "shared")?,
            name: shared("name_or_scope_info")?,
            script: shared("script_or_debug_info").or_else(|| shared("script"))?,
            token: shared("raw_function_token_offset")?,
            map_type: field("Map", "instance_type")?,
            shared_type: bits("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")?,
            scope_type: bits("type_ScopeInfo__SCOPE_INFO_TYPE")?,
            script_type: bits("type_Script__SCRIPT_TYPE")?,
            script_name: field("Script", "name")?,
            source: field("Script", "source")?,
            scope_head: u64::try_from(scope_head).ok()?,
            has_position: scope_head >= POSITION_FIELDS,
            strings: StringLayout {
                first_non_string: bits("FirstNonstringType")?,
                representation_mask: bits("StringRepresentationMask")?,
                cons: bits("ConsStringTag")?,
                external: bits("ExternalStringTag")?,
                slice: bits("SlicedStringTag")?,
                thin: bits("ThinStringTag")?,
                encoding_mask: bits("StringEncodingMask")?,
                one_byte: bits("OneByteStringTag")?,
                length: field("String", "length")?,
                characters: field("SeqOneByteString", "chars")?,
                first: field("ConsString", "first")?,
                second: field("ConsString", "second")?,
                resource: field("ExternalString", "resource")?,
                parent: field("SlicedString", "parent")?,
                offset: field("SlicedString", "offset")?,
                actual: field("ThinString", "actual")?,
            },
        })
    }
}
