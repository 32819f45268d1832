//! Where V8 keeps what: its programs bring that along for debuggers that look at a process after its end (`gen-postmortem-metadata.py` there),
//! as numbers that are called `v8dbg_…`.

/// How their names begin.
pub const METADATA: &[u8] = b"v8dbg_";

/// What is in a scope's description before the names of its variables, where that tells the function's place in its source, too.
const WITH_PLACE: i64 = 5;

/// Offsets of fields in bytes, and what numbers mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// From a frame pointer: the function that runs,
    pub function: i64,
    /// and in the place of what a function has there, the kind of a frame that is of none.
    pub kind: i64,
    /// Kinds of such frames: of WebAssembly, and of regular expressions, which some versions have not.
    pub wasm: Option<u64>,
    pub regexp: Option<u64>,
    /// Of a function: what all of its closures share,
    pub shared: u64,
    /// and of that: its name, or its scope,
    pub name: u64,
    /// its script,
    pub script: u64,
    /// and how far before its beginning its first word is.
    pub token: u64,
    /// Of what describes an object: its type.
    pub map_type: u64,
    pub shared_type: u16,
    pub scope_type: u16,
    pub script_type: u16,
    /// Of a script: its name,
    pub script_name: u64,
    /// and its text.
    pub source: u64,
    /// Numbers in a scope before the names of its variables,
    pub scope_head: u64,
    /// and whether the function's place is among them.
    pub has_place: bool,
    pub strings: StringLayout,
}

/// Of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StringLayout {
    /// Types from this on are no texts.
    pub none: u16,
    /// Parts of a type: how it is kept,
    pub kept: u16,
    pub pair: u16,
    pub external: u16,
    pub slice: u16,
    pub thin: u16,
    /// and whether a character has one byte.
    pub width: u16,
    pub narrow: u16,
    /// Offsets of fields.
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
    /// By the numbers of a program; none if one is missing, or if it keeps addresses in another way (compressed ones, as browsers do).
    pub fn of(metadata: &[(Vec<u8>, i32)]) -> Option<Self> {
        let find = |name: &str| {
            let is = |known: &[u8]| known.strip_prefix(METADATA) == Some(name.as_bytes());
            metadata.iter().find(|(known, _)| is(known)).map(|(_, number)| i64::from(*number))
        };
        // The type of a field, which stands behind its name, is called differently from version to version.
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
            kind: find("off_fp_context_or_frame_type")?,
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
            has_place: scope_head >= WITH_PLACE,
            strings: StringLayout {
                none: bits("FirstNonstringType")?,
                kept: bits("StringRepresentationMask")?,
                pair: bits("ConsStringTag")?,
                external: bits("ExternalStringTag")?,
                slice: bits("SlicedStringTag")?,
                thin: bits("ThinStringTag")?,
                width: bits("StringEncodingMask")?,
                narrow: bits("OneByteStringTag")?,
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
