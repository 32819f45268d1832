//! The stacks of V8, which runs the JavaScript of Node.js, followed from outside: all of its frames have a frame pointer, and those of
//! JavaScript say which function runs in them. What that is called is read from the heap. The collector moves what is in there: it is read
//! right behind the sample, and what is known is used only as long as the same stands there.

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

/// How long a function that still looks the same is taken for the same.
const KNOWN: Duration = Duration::from_secs(10);
/// Functions and scripts that are known at once, and bytes that are kept of scripts.
const MOST_FUNCTIONS: usize = 50_000;
const MOST_SCRIPTS: usize = 10_000;
const MOST_BYTES: usize = 32 << 20;
/// Bytes in which all is that is asked of a function.
const HEAD_BYTES: usize = 56;

/// What was read of a process's JavaScript so far.
#[derive(Debug, Clone)]
pub struct V8<M> {
    heap: Heap<M>,
    /// Functions by what their closures share.
    functions: HashMap<u64, KnownFunction>,
    scripts: HashMap<u64, SourceScript>,
    /// Bytes that are kept of them.
    script_bytes: usize,
    /// The frame of code that is between two functions; none: no function was named so far.
    edge: Option<u32>,
    /// Of the stack that is followed.
    nameless: Vec<UnnamedFrame>,
}

/// What tells a function from all others.
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
    /// Its frame; none: it has no name.
    frame: Option<u32>,
}

/// A frame on a stack that is still to be named.
#[derive(Debug, Clone, Copy)]
struct UnnamedFrame {
    /// Which,
    at: usize,
    /// what its code is,
    code: V8Code,
    /// and the function that runs it; none: that is not there yet, or no more.
    function: Option<u64>,
}

impl<M: ForeignMemory> V8<M> {
    /// The JavaScript in this memory.
    pub fn with(memory: M, layout: Layout) -> Self {
        Self {
            heap: Heap { memory, layout },
            functions: HashMap::new(),
            scripts: HashMap::new(),
            script_bytes: 0,
            edge: None,
            nameless: Vec::new(),
        }
    }

    /// One of its frames, in this code.
    fn step(
        &mut self,
        at: StackPoint,
        code: V8Code,
        stack: &dyn Fn(u64) -> Option<u64>,
        made: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        let Layout { function, kind, wasm, regexp, .. } = self.heap.layout;
        let slot = |offset: i64| {
            let place = at.frame.wrapping_add_signed(offset);
            // Of a frame that is just made or left it is not there.
            stack(place).filter(|_| place >= at.stack)
        };
        let kind = slot(kind).filter(|kind| !is_object(*kind));
        let is = |known: Option<u64>| {
            code == V8Code::Made && known.is_some() && known == kind.map(|kind| kind >> 1)
        };
        let other =
            [(wasm, "WebAssembly"), (regexp, "regular expression")].into_iter().find(|(known, _)| is(*known));
        let named = other.and_then(|(_, name)| made.alone(no_function(name)));
        let function = match kind {
            None => Some(slot(function).filter(|function| is_object(*function))),
            // It has no frame yet, or no more: that is its caller's.
            Some(_) if code == V8Code::Made && at.innermost && named.is_none() => Some(None),
            Some(_) => None,
        };
        if let Some(function) = function {
            self.nameless.push(UnnamedFrame { at: frames.len(), code, function });
        }
        // What the interpreter begins for the function that it carries out is part of that.
        if kind.is_none() || code != V8Code::Interpreter {
            frames.push(named.map_or(Frame::Address(at.within()), Frame::Made));
        }
        at.returned(at.frame.wrapping_add(8), stack(at.frame)?, stack)
    }

    /// Names the functions on a stack.
    fn name(&mut self, made: &mut RuntimeNames, frames: &mut Vec<Frame>) {
        let nameless = std::mem::take(&mut self.nameless);
        let layout = self.heap.layout;
        let functions = nameless.iter().filter_map(|frame| frame.function);
        let places: Vec<u64> = functions.map(|function| (function - 1).wrapping_add(layout.shared)).collect();
        let shared = self.words(&places);
        let heads: Vec<u64> = shared.iter().map(|shared| shared.wrapping_sub(1)).collect();
        let now = Instant::now();
        let mut bytes = vec![0; HEAD_BYTES * heads.len()];
        let mut names = Vec::with_capacity(heads.len());
        self.pieces(&heads, &mut bytes);
        for (at, head) in shared.iter().zip(bytes.as_chunks::<HEAD_BYTES>().0) {
            let head = is_object(*at).then(|| SharedFunction::read(&layout, head)).flatten();
            names.push(head.and_then(|head| self.frame_of(*at, head, now, made)));
        }
        // Where others have a name, the first and the last instructions of a function have none.
        for UnnamedFrame { at, code, function } in nameless.iter().rev() {
            let frame = function.and_then(|_| names.pop()).flatten();
            match (code, frame.or(self.edge.filter(|_| *code == V8Code::Made))) {
                (_, None) => {}
                (V8Code::Builtin, Some(frame)) => frames.insert(at + 1, Frame::Made(frame)),
                (V8Code::Made | V8Code::Interpreter, Some(frame)) => frames[*at] = Frame::Made(frame),
            }
        }
    }

    /// Words at these addresses; 0 where there is none.
    fn words(&self, addresses: &[u64]) -> Vec<u64> {
        let mut bytes = vec![0; 8 * addresses.len()];
        self.pieces(addresses, &mut bytes);
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }

    /// Equal pieces at these addresses, with one call if all are there; zeros where there is none.
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

    /// The frame of a function whose closures share this.
    fn frame_of(
        &mut self,
        at: u64,
        shared: SharedFunction,
        now: Instant,
        made: &mut RuntimeNames,
    ) -> Option<u32> {
        let known = self.functions.get(&at);
        let known = known.filter(|known| known.shared == shared && now < known.since + KNOWN);
        if let Some(known) = known {
            return known.frame;
        }
        // What is none was moved just now.
        if self.heap.type_of(shared.map)? != self.heap.layout.shared_type {
            return None;
        }
        let frame = self.function(shared).and_then(|function| made.alone(function));
        if frame.is_some() && self.edge.is_none() {
            self.edge = made.alone(no_function("JavaScript"));
        }
        if self.functions.len() >= MOST_FUNCTIONS {
            self.functions.clear();
        }
        self.functions.insert(at, KnownFunction { shared, since: now, frame });
        frame
    }

    /// A function of a script.
    fn function(&mut self, shared: SharedFunction) -> Option<RuntimeFunction> {
        let Self { heap, scripts, .. } = self;
        let called = heap.function_names(shared.name).unwrap_or_default();
        if !scripts.get(&shared.script).is_some_and(|script| script.is_at(heap, shared.script)) {
            let script = SourceScript::of(heap, shared.script)?;
            self.script_bytes += script.size();
            if scripts.len() >= MOST_SCRIPTS || self.script_bytes > MOST_BYTES {
                scripts.clear();
                self.script_bytes = script.size();
            }
            scripts.insert(shared.script, script);
        }
        let script = scripts.get(&shared.script)?;
        // Its scope begins at its parameters.
        let place = called.place.map(|place| place.saturating_sub(shared.before()));
        let line = place.and_then(|place| script.line(place));
        Some(name::function(&called, script.called.as_deref(), line))
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

    /// How far before its parameters its first word is; that of one without is not said.
    fn before(self) -> u64 {
        match self.token {
            u16::MAX => 0,
            token => u64::from(token),
        }
    }
}

/// V8 in a process, while one of its stacks is followed.
pub struct V8Runtime<'a, M> {
    pub v8: &'a mut V8<M>,
    /// What code is at an address of the process.
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
        made: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        let code = (self.code)(at.within())?;
        self.v8.step(at, code, stack, made, frames)
    }

    fn end(&mut self, made: &mut RuntimeNames, frames: &mut Vec<Frame>) {
        self.v8.name(made, frames);
    }
}

/// What is no function of JavaScript.
fn no_function(name: &str) -> RuntimeFunction {
    RuntimeFunction { module: "[V8]".to_owned(), name: name.to_owned(), file: None, line: None }
}
