//! Reads the stacks of a Python interpreter (CPython 3.8 to 3.13) from its memory when one of its threads
//! was sampled. Its frames are on the heap and change at once: they are read immediately after the sample,
//! so belong to a moment later.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod layout;

use crate::memory::ForeignMemory;
use crate::runtime_names::{Frame, RuntimeFunction, RuntimeNames};
use crate::unwind::Stack;
use layout::Layout;
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Maximum frames per stack, threads of all interpreters, and interpreters.
const MAX_FRAMES: usize = 500;
const MAX_THREADS: usize = 10_000;
const MAX_INTERPRETERS: usize = 100;
/// How long cached code, and a thread without a state, are trusted.
const KNOWN: Duration = Duration::from_secs(2);
/// Maximum cached code objects.
const MAX_CODES: usize = 50_000;
/// Longer strings are not names.
const LONGEST: u64 = 1_000;
/// Owner of a frame that stands for a call from C (`FRAME_OWNED_BY_CSTACK`).
const OWNED_BY_C: u8 = 3;
/// Offset of the TID in `pthread_t`: glibc on x86-64 and on aarch64, musl.
const NUMBERS: [u64; 3] = [720, 208, 48];

/// Addresses of the interpreter's own code.
#[derive(Debug, Clone, Default)]
pub struct InterpreterCode {
    /// All of it,
    pub module: Range<u64>,
    /// and its evaluation loop.
    pub loops: Vec<Range<u64>>,
}

/// An interpreter as read so far.
#[derive(Debug, Clone)]
pub struct Interpreter<M> {
    memory: M,
    runtime: u64,
    layout: Layout,
    /// Thread states by TID as the interpreter sees it.
    threads: HashMap<u32, (Option<u64>, Instant)>,
    /// By address of the code object.
    codes: HashMap<u64, KnownCode>,
}

#[derive(Debug, Clone, Copy)]
struct KnownCode {
    number: u32,
    since: Instant,
    /// Addresses of its file and name strings.
    strings: [u64; 2],
}

impl<M: ForeignMemory> Interpreter<M> {
    /// The interpreter in this memory, with its runtime at this address; none if its version is
    /// unsupported.
    pub fn of(memory: M, runtime: u64, minor: Option<u64>) -> Option<Self> {
        let layout = Layout::of(&memory, runtime, minor)?;
        Some(Self { memory, runtime, layout, threads: HashMap::new(), codes: HashMap::new() })
    }

    /// Replaces the evaluation loop's frames by the Python functions that the thread runs. Frames called
    /// from the loop stay.
    pub fn replace_frames(
        &mut self,
        stack: &mut Stack,
        thread: u32,
        code: &InterpreterCode,
        names: &mut RuntimeNames,
    ) {
        let within =
            |frame: &Frame, range: &Range<u64>| matches!(frame, Frame::Address(at) if range.contains(at));
        let is_loop = |frame: &Frame| code.loops.iter().any(|range| within(frame, range));
        let is_own = |frame: &Frame| within(frame, &code.module);
        let all = &stack.frames;
        let innermost = all.iter().position(is_loop).or_else(|| all.iter().position(is_own));
        // If the root was not reached, the loop may be further out.
        let Some(innermost) = innermost.or_else(|| (!stack.whole).then_some(all.len())) else { return };
        let called = all[..innermost].iter().rposition(|frame| !is_own(frame)).map_or(0, |at| at + 1);
        let (functions, whole) = self.python_frames(thread, names);
        if !functions.is_empty() {
            stack.frames.truncate(called);
            stack.frames.extend(functions);
            stack.whole = whole;
        }
    }

    /// The Python frames of a thread, innermost first, and whether the last is the root.
    fn python_frames(&mut self, thread: u32, names: &mut RuntimeNames) -> (Vec<Frame>, bool) {
        let mut frames = Vec::new();
        let Some(state) = self.state(thread) else { return (frames, false) };
        let mut next = self.memory.word(state.wrapping_add(self.layout.frame));
        if let Some(through) = self.layout.frame_indirection {
            next = next.and_then(|place| self.memory.word(place.wrapping_add(through)));
        }
        for _ in 0..MAX_FRAMES {
            let Some(at) = next else { break };
            if at == 0 {
                return (frames, true);
            }
            let field = |offset: u64| at.wrapping_add(offset);
            let owner = self.layout.owner.and_then(|offset| self.memory.array(field(offset)));
            if owner != Some([OWNED_BY_C]) {
                let code = self.memory.word(field(self.layout.code));
                let Some(number) = code.and_then(|code| self.frame_of(code, names)) else { break };
                frames.push(Frame::Named(number));
            }
            next = self.memory.word(field(self.layout.previous_frame));
        }
        (frames, false)
    }

    /// The address of a thread's state.
    fn state(&mut self, thread: u32) -> Option<u64> {
        match self.threads.get(&thread) {
            Some((Some(state), _)) if self.belongs_to(*state, thread) => return Some(*state),
            Some((None, since)) if since.elapsed() < KNOWN => return None,
            _ => {}
        }
        let found = self.find(thread);
        if self.threads.len() >= MAX_THREADS {
            self.threads.clear();
        }
        self.threads.insert(thread, (found, Instant::now()));
        found
    }

    fn find(&self, thread: u32) -> Option<u64> {
        let word = |address: u64| self.memory.word(address).filter(|at| *at != 0);
        let mut interpreter = word(self.runtime.wrapping_add(self.layout.interpreters));
        let mut left = MAX_THREADS;
        for _ in 0..MAX_INTERPRETERS {
            let mut state = word(interpreter?.wrapping_add(self.layout.threads));
            while let Some(at) = state.filter(|_| left > 0) {
                left -= 1;
                if self.belongs_to(at, thread) {
                    return Some(at);
                }
                state = word(at.wrapping_add(self.layout.next_thread));
            }
            interpreter = word(interpreter?.wrapping_add(self.layout.next_interpreter));
        }
        None
    }

    /// Whether this is the thread's state.
    fn belongs_to(&self, state: u64, thread: u32) -> bool {
        let Some(number) = self.memory.word(state.wrapping_add(self.layout.thread_id)) else { return false };
        if self.layout.uses_native_id {
            return number == u64::from(thread);
        }
        let noted = |offset: &u64| self.memory.int(number.wrapping_add(*offset));
        NUMBERS.iter().filter_map(noted).any(|number| u32::try_from(number) == Ok(thread))
    }

    /// The frame number of the function with this code object.
    fn frame_of(&mut self, code: u64, names: &mut RuntimeNames) -> Option<u32> {
        if let Some(known) = self.codes.get(&code).filter(|known| known.since.elapsed() < KNOWN) {
            return Some(known.number);
        }
        let field = |offset: u64| code.wrapping_add(offset);
        let strings =
            [self.memory.word(field(self.layout.file))?, self.memory.word(field(self.layout.name))?];
        let known = self.codes.get(&code).filter(|known| known.strings == strings);
        let number = match known {
            Some(known) => known.number,
            None => {
                let (file, name) = (self.text(strings[0])?, self.text(strings[1])?);
                let line = self.memory.int(field(self.layout.line)).and_then(|line| u32::try_from(line).ok());
                names.single_frame(function(&file, &name, line))?
            }
        };
        if self.codes.len() >= MAX_CODES {
            self.codes.clear();
        }
        self.codes.insert(code, KnownCode { number, since: Instant::now(), strings });
        Some(number)
    }

    /// A string; none if it is not one, or too long for a name.
    fn text(&self, at: u64) -> Option<String> {
        let length = self.memory.word(at.wrapping_add(16)).filter(|length| *length <= LONGEST)?;
        let state = self.memory.int(at.wrapping_add(32))?;
        let (width, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        let wide = at.wrapping_add(self.layout.wide);
        match (width, is_compact, is_ascii) {
            (1, true, true) => {
                let bytes = self.memory.bytes(at.wrapping_add(self.layout.ascii), length as usize)?;
                String::from_utf8(bytes).ok()
            }
            (1, true, false) => {
                Some(self.memory.bytes(wide, length as usize)?.into_iter().map(char::from).collect())
            }
            (2, true, false) => {
                let bytes = self.memory.bytes(wide, 2 * length as usize)?;
                let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_ne_bytes(*unit));
                Some(
                    char::decode_utf16(units)
                        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                        .collect(),
                )
            }
            _ => None,
        }
    }
}

/// A function of a file: `/usr/lib/python3.11/json/encoder.py` belongs to module `json`, and its functions
/// are `json.encoder.…`.
fn function(file: &str, name: &str, line: Option<u32>) -> RuntimeFunction {
    let path = ["/site-packages/", "/dist-packages/"].iter().find_map(|folder| file.rsplit_once(folder));
    let library = file.find("/python3.").and_then(|at| file[at + 1..].split_once('/'));
    let path = match path.or(library) {
        Some((_, path)) => path,
        None => file.rsplit('/').next().unwrap_or(file),
    };
    let path = path.strip_suffix(".py").unwrap_or(path);
    let path = path.strip_suffix("/__init__").unwrap_or(path).replace('/', ".");
    let module = path.split('.').next().unwrap_or_default().to_owned();
    RuntimeFunction { module, name: format!("{path}.{name}"), file: Some(file.to_owned()), line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_as_it_is_imported() {
        for (file, expected) in [
            ("/srv/app/main.py", ("main", "main.f")),
            ("/usr/lib/python3.11/json/encoder.py", ("json", "json.encoder.f")),
            ("/usr/lib/python3/dist-packages/uvicorn/main.py", ("uvicorn", "uvicorn.main.f")),
            ("/v/lib/python3.12/site-packages/flask/__init__.py", ("flask", "flask.f")),
            ("<frozen runpy>", ("<frozen runpy>", "<frozen runpy>.f")),
            ("", ("", ".f")),
        ] {
            let RuntimeFunction { module, name, .. } = function(file, "f", None);
            assert_eq!((module.as_str(), name.as_str()), expected, "{file}");
        }
    }
}
