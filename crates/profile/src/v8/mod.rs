//! Unwinds the stacks of V8, which runs Node.js, from outside: all of its frames have a frame pointer, and
//! JavaScript frames hold their function. Its name is read from the heap. The garbage collector moves
//! objects: they are read immediately after the sample, and cached only as long as the same is there.

mod builtins;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod heap;
mod layout;
mod name;
mod script;

pub use builtins::{Builtins, V8Code};
pub use layout::{Layout, METADATA};

use crate::memory::ForeignMemory;
use crate::runtime::{Runtime, StackPoint};
use crate::runtime_names::{Frame, RuntimeFunction, RuntimeNames};
use heap::{Heap, is_object};
use script::SourceScript;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a function that looks the same is taken for the same.
const KNOWN: Duration = Duration::from_secs(10);
/// Maximum cached functions and scripts, and cached bytes of scripts.
const MAX_FUNCTIONS: usize = 50_000;
const MAX_SCRIPTS: usize = 10_000;
const MAX_BYTES: usize = 32 << 20;
/// Bytes that hold all fields needed of a `SharedFunctionInfo`.
const HEAD_BYTES: usize = 56;

/// The JavaScript functions of a process, as read so far.
#[derive(Debug, Clone)]
pub struct V8<M> {
    heap: Heap<M>,
    /// By `SharedFunctionInfo`.
    functions: HashMap<u64, KnownFunction>,
    scripts: HashMap<u64, SourceScript>,
    /// Cached bytes of scripts.
    script_bytes: usize,
    /// The frame of code between two functions; none: no function named so far.
    generic_frame: Option<u32>,
    /// Of the current stack.
    unnamed: Vec<UnnamedFrame>,
}

/// Fields that identify a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SharedFunction {
    map: u64,
    name: u64,
    script: u64,
    token: u16,
}

#[derive(Debug, Clone, Copy)]
struct KnownFunction {
    shared: SharedFunction,
    since: Instant,
    /// Its frame; none: no name.
    frame: Option<u32>,
}

/// A frame still to be named.
#[derive(Debug, Clone, Copy)]
struct UnnamedFrame {
    /// Index,
    at: usize,
    /// kind of code,
    code: V8Code,
    /// and function; none: not there yet, or no longer.
    function: Option<u64>,
}

impl<M: ForeignMemory> V8<M> {
    pub fn with(memory: M, layout: Layout) -> Self {
        Self {
            heap: Heap { memory, layout },
            functions: HashMap::new(),
            scripts: HashMap::new(),
            script_bytes: 0,
            generic_frame: None,
            unnamed: Vec::new(),
        }
    }

    /// Steps through one frame with this code.
    fn step(
        &mut self,
        at: StackPoint,
        code: V8Code,
        stack: &dyn Fn(u64) -> Option<u64>,
        names: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        let Layout { function, frame_type, wasm, regexp, .. } = self.heap.layout;
        let slot = |offset: i64| {
            let place = at.frame.wrapping_add_signed(offset);
            // Not there in a frame just being made or left.
            stack(place).filter(|_| place >= at.stack)
        };
        let frame_type = slot(frame_type).filter(|kind| !is_object(*kind));
        let is = |known: Option<u64>| {
            code == V8Code::Generated && known.is_some() && known == frame_type.map(|kind| kind >> 1)
        };
        let other =
            [(wasm, "WebAssembly"), (regexp, "regular expression")].into_iter().find(|(known, _)| is(*known));
        let named = other.and_then(|(_, name)| names.single_frame(pseudo_function(name)));
        let function = match frame_type {
            None => Some(slot(function).filter(|function| is_object(*function))),
            // No frame yet, or no longer: the slot is the caller's.
            Some(_) if code == V8Code::Generated && at.innermost && named.is_none() => Some(None),
            Some(_) => None,
        };
        if let Some(function) = function {
            self.unnamed.push(UnnamedFrame { at: frames.len(), code, function });
        }
        // Frames that the interpreter makes for the function it runs are part of it.
        if frame_type.is_none() || code != V8Code::Interpreter {
            frames.push(named.map_or(Frame::Address(at.within()), Frame::Named));
        }
        at.caller(at.frame.wrapping_add(8), stack(at.frame)?, stack)
    }

    /// Names the functions on a stack.
    fn name(&mut self, runtime_names: &mut RuntimeNames, frames: &mut Vec<Frame>) {
        let unnamed = std::mem::take(&mut self.unnamed);
        let layout = self.heap.layout;
        let functions = unnamed.iter().filter_map(|frame| frame.function);
        let places: Vec<u64> = functions.map(|function| (function - 1).wrapping_add(layout.shared)).collect();
        let shared = self.words(&places);
        let heads: Vec<u64> = shared.iter().map(|shared| shared.wrapping_sub(1)).collect();
        let now = Instant::now();
        let mut bytes = vec![0; HEAD_BYTES * heads.len()];
        let mut names = Vec::with_capacity(heads.len());
        self.pieces(&heads, &mut bytes);
        for (at, head) in shared.iter().zip(bytes.as_chunks::<HEAD_BYTES>().0) {
            let head = is_object(*at).then(|| SharedFunction::read(&layout, head)).flatten();
            names.push(head.and_then(|head| self.frame_of(*at, head, now, runtime_names)));
        }
        // The first and last instructions of a function have no name; others on the stack do.
        for UnnamedFrame { at, code, function } in unnamed.iter().rev() {
            let frame = function.and_then(|_| names.pop()).flatten();
            match (code, frame.or(self.generic_frame.filter(|_| *code == V8Code::Generated))) {
                (_, None) => {}
                (V8Code::Builtin, Some(frame)) => frames.insert(at + 1, Frame::Named(frame)),
                (V8Code::Generated | V8Code::Interpreter, Some(frame)) => frames[*at] = Frame::Named(frame),
            }
        }
    }

    /// The words at these addresses; 0 if unreadable.
    fn words(&self, addresses: &[u64]) -> Vec<u64> {
        let mut bytes = vec![0; 8 * addresses.len()];
        self.pieces(addresses, &mut bytes);
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }

    /// Equal pieces at these addresses, in one call if all can be read; zeros if unreadable.
    fn pieces(&self, addresses: &[u64], into: &mut [u8]) {
        let length = into.len() / addresses.len().max(1);
        let mut done = 0;
        while done < addresses.len() {
            done += self.heap.memory.pieces(&addresses[done..], &mut into[done * length..]);
            if let Some(missing) = into.get_mut(done * length..(done + 1) * length) {
                missing.fill(0);
            }
            done += 1;
        }
    }

    /// The frame of a function, by its `SharedFunctionInfo`.
    fn frame_of(
        &mut self,
        at: u64,
        shared: SharedFunction,
        now: Instant,
        names: &mut RuntimeNames,
    ) -> Option<u32> {
        let known = self.functions.get(&at);
        let known = known.filter(|known| known.shared == shared && now < known.since + KNOWN);
        if let Some(known) = known {
            return known.frame;
        }
        // If it is no `SharedFunctionInfo`, it was just moved.
        if self.heap.type_of(shared.map)? != self.heap.layout.shared_type {
            return None;
        }
        let frame = self.function(shared).and_then(|function| names.single_frame(function));
        if frame.is_some() && self.generic_frame.is_none() {
            self.generic_frame = names.single_frame(pseudo_function("JavaScript"));
        }
        if self.functions.len() >= MAX_FUNCTIONS {
            self.functions.clear();
        }
        self.functions.insert(at, KnownFunction { shared, since: now, frame });
        frame
    }

    fn function(&mut self, shared: SharedFunction) -> Option<RuntimeFunction> {
        let Self { heap, scripts, .. } = self;
        let called = heap.function_names(shared.name).unwrap_or_default();
        if !scripts.get(&shared.script).is_some_and(|script| script.is_at(heap, shared.script)) {
            let script = SourceScript::of(heap, shared.script)?;
            self.script_bytes += script.size();
            if scripts.len() >= MAX_SCRIPTS || self.script_bytes > MAX_BYTES {
                scripts.clear();
                self.script_bytes = script.size();
            }
            scripts.insert(shared.script, script);
        }
        let script = scripts.get(&shared.script)?;
        // The scope starts at the parameters.
        let place = called.position.map(|place| place.saturating_sub(shared.parameters_offset()));
        let line = place.and_then(|place| script.line(place));
        Some(name::function(&called, script.path.as_deref(), line))
    }
}

impl SharedFunction {
    fn read(layout: &Layout, head: &[u8]) -> Option<Self> {
        let field = |offset: u64| {
            let at = usize::try_from(offset).ok()?;
            Some(u64::from_ne_bytes(head.get(at..at.checked_add(8)?)?.try_into().ok()?))
        };
        let at = usize::try_from(layout.token).ok()?;
        let token = u16::from_ne_bytes(head.get(at..at.checked_add(2)?)?.try_into().ok()?);
        Some(Self { map: field(0)?, name: field(layout.name)?, script: field(layout.script)?, token })
    }

    /// Distance from its first token to its parameters; unknown for one without a token.
    fn parameters_offset(self) -> u64 {
        match self.token {
            u16::MAX => 0,
            token => u64::from(token),
        }
    }
}

/// V8 in a process, during the unwinding of one stack.
pub struct V8Runtime<'a, M> {
    pub v8: &'a mut V8<M>,
    /// The kind of code at an address of the process.
    pub code: &'a dyn Fn(u64) -> Option<V8Code>,
}

impl<M: ForeignMemory> Runtime for V8Runtime<'_, M> {
    fn has(&self, address: u64) -> bool {
        (self.code)(address).is_some()
    }

    fn step(
        &mut self,
        at: StackPoint,
        stack: &dyn Fn(u64) -> Option<u64>,
        names: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        let code = (self.code)(at.within())?;
        self.v8.step(at, code, stack, names, frames)
    }

    fn end(&mut self, names: &mut RuntimeNames, frames: &mut Vec<Frame>) {
        self.v8.name(names, frames);
    }
}

/// A frame that is not a JavaScript function.
fn pseudo_function(name: &str) -> RuntimeFunction {
    RuntimeFunction { module: "[V8]".to_owned(), name: name.to_owned(), file: None, line: None }
}
