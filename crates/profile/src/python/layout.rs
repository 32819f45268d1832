//! Layout of CPython's structures. From 3.13 the interpreter describes itself; before, as in its headers.

use crate::memory::ForeignMemory;

/// Magic of the self-description, and the number of 8-byte values after it.
const COOKIE: &[u8; 8] = b"xdebugpy";
const DESCRIBED: usize = 53;

/// Field offsets in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Runtime: first interpreter.
    pub interpreters: u64,
    /// Interpreter: the next,
    pub next_interpreter: u64,
    /// and its threads.
    pub threads: u64,
    /// Thread: the next,
    pub next_thread: u64,
    /// its id,
    pub thread_id: u64,
    /// whether that is the OS thread id; otherwise the C library's `pthread_t`;
    pub uses_native_id: bool,
    /// its current frame,
    pub frame: u64,
    /// and the frame's offset in what `frame` points to, if that is an indirection.
    pub frame_indirection: Option<u64>,
    /// Frame: its code,
    pub code: u64,
    /// its caller,
    pub previous_frame: u64,
    /// and its owner, a byte.
    pub owner: Option<u64>,
    /// Code: its file,
    pub file: u64,
    /// its name,
    pub name: u64,
    /// and its first line.
    pub line: u64,
    /// String: start of the characters if all are ASCII, and if not.
    pub ascii: u64,
    pub wide: u64,
}

/// 3.8 to 3.10.
const PYTHON_3_8: Layout = Layout {
    interpreters: 32,
    next_interpreter: 0,
    threads: 8,
    next_thread: 8,
    thread_id: 176,
    uses_native_id: false,
    frame: 24,
    frame_indirection: None,
    code: 32,
    previous_frame: 24,
    owner: None,
    file: 104,
    name: 112,
    line: 40,
    ascii: 48,
    wide: 72,
};

/// 3.11.
const PYTHON_3_11: Layout = Layout {
    interpreters: 40,
    threads: 16,
    thread_id: 160,
    uses_native_id: true,
    frame: 56,
    frame_indirection: Some(8),
    previous_frame: 48,
    file: 112,
    name: 128,
    line: 72,
    ..PYTHON_3_8
};

/// 3.12.
const PYTHON_3_12: Layout = Layout {
    threads: 72,
    thread_id: 144,
    frame_indirection: Some(0),
    code: 0,
    previous_frame: 8,
    owner: Some(70),
    line: 68,
    ascii: 40,
    wide: 56,
    ..PYTHON_3_11
};

impl Layout {
    /// For the runtime at this address, of version 3.`minor`; none if the version is unknown.
    pub fn of<M: ForeignMemory>(memory: &M, runtime: u64, minor: Option<u64>) -> Option<Self> {
        let cookie: [u8; 8] = memory.array(runtime)?;
        match minor {
            _ if cookie == *COOKIE => Self::described(memory, runtime),
            Some(8..=10) => Some(PYTHON_3_8),
            Some(11) => Some(PYTHON_3_11),
            Some(12) => Some(PYTHON_3_12),
            _ => None,
        }
    }

    /// From the self-description of 3.13 (`_Py_DebugOffsets` in `pycore_runtime.h`); later versions lay it
    /// out differently.
    fn described<M: ForeignMemory>(memory: &M, runtime: u64) -> Option<Self> {
        let bytes = memory.bytes(runtime.checked_add(8)?, 8 * DESCRIBED)?;
        let word = |at: usize| bytes.as_chunks::<8>().0.get(at).map(|word| u64::from_ne_bytes(*word));
        let (version, free_threaded) = (word(0)?, word(1)?);
        if version >> 16 != 0x030D || free_threaded != 0 {
            return None;
        }
        Some(Self {
            interpreters: word(4)?,
            next_interpreter: word(7)?,
            threads: word(8)?,
            next_thread: word(20)?,
            frame: word(22)?,
            frame_indirection: None,
            thread_id: word(24)?,
            previous_frame: word(28)?,
            code: word(29)?,
            owner: Some(word(32)?),
            file: word(34)?,
            name: word(36)?,
            line: word(38)?,
            ..PYTHON_3_12
        })
    }
}
