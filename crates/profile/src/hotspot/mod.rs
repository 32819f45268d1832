//! Unwinds the stacks of a Java VM (HotSpot) from outside: compiled methods have frames whose size the VM
//! knows; interpreted frames name their method. The VM's debugger tables say where it keeps this. The VM is
//! not asked and does not notice.

mod blobs;
mod caller_location;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod layout;
mod methods;
mod name;
mod tables;
#[cfg(test)]
mod tests;
mod threads;

use crate::memory::{ForeignMemory, ReadAhead};
use crate::runtime::{Runtime, StackPoint};
use crate::runtime_names::{Frame, RuntimeFunction, RuntimeNames};
use blobs::{Blob, BlobKind, HEAD_BYTES};
use caller_location::{CallerLocation, Instructions};
use layout::Layout;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum time for which cached blobs are trusted: code memory is reused. If rechecking them all takes
/// long, this many times that duration.
const KNOWN: Duration = Duration::from_secs(2);
const CACHE_RATIO: u32 = 1_000;
/// Blobs rechecked in one read.
const AT_ONCE: usize = 256;
/// Maximum cached blobs and methods.
const MOST: usize = 50_000;
/// Maximum bytes of cached tables.
const MAX_TABLES: usize = 16 << 20;
/// Bytes of instructions read before and after the next one.
const INSTRUCTION_BYTES: u64 = 32;
/// Words of an interpreter frame, relative to its frame pointer: saved frame pointer, return address,
/// sender's stack pointer, method; and how far below it the stack pointer is at least, and at most in
/// bytes.
const RETURN: u64 = 8;
const SENDER: i64 = -8;
const METHOD: i64 = -24;
const LEAST_FRAME: u64 = 64;
const MAX_FRAME: u64 = 64 << 10;

/// The code of a Java VM as read so far.
#[derive(Debug, Clone)]
pub struct HotSpot<M> {
    memory: M,
    layout: Layout,
    /// When to recheck the cache.
    recheck_at: Instant,
    /// By start address.
    blobs: BTreeMap<u64, KnownBlob>,
    /// Bytes of cached tables.
    tables: usize,
    /// By return address: nearly all frames are these, again and again.
    return_sites: HashMap<u64, ReturnSite>,
    /// Name numbers by `Method` address.
    methods: HashMap<u64, Option<u32>>,
    /// Thread structures by thread id, as of the first request for one.
    threads: Option<HashMap<u32, u64>>,
}

/// A blob and the frames at its addresses.
#[derive(Debug, Clone)]
struct KnownBlob {
    blob: Arc<Blob>,
    /// Frame numbers by address; none: no name there.
    frames: HashMap<u64, Option<u32>>,
    /// Its tables, with their address.
    tables: Option<(u64, Vec<u8>)>,
}

/// A return site in compiled code.
#[derive(Debug, Clone, Copy)]
struct ReturnSite {
    frame: u32,
    frame_bytes: u64,
}

impl<M: ForeignMemory> HotSpot<M> {
    /// The VM in this memory, from its library's symbols and load bias; none while it starts, or if it is
    /// not as expected.
    pub fn of(memory: M, symbols: &[(Vec<u8>, u64)], bias: u64) -> Option<Self> {
        let layout = Layout::of(&memory, symbols, bias)?;
        Some(Self::with(memory, layout))
    }

    fn with(memory: M, layout: Layout) -> Self {
        Self {
            memory,
            layout,
            recheck_at: Instant::now() + KNOWN,
            blobs: BTreeMap::new(),
            tables: 0,
            return_sites: HashMap::new(),
            methods: HashMap::new(),
            threads: None,
        }
    }

    /// Begins a new stack.
    pub fn begin(&mut self) {
        let now = Instant::now();
        if now >= self.recheck_at {
            self.recheck();
            self.recheck_at = now + KNOWN.max(now.elapsed() * CACHE_RATIO);
        }
    }

    /// Where a thread left the VM's code to wait below it; none if it runs such code, or has none on its
    /// stack.
    pub fn last_java_frame(&mut self, thread: u32) -> Option<StackPoint> {
        let fields = self.layout.threads?;
        let threads = self.threads.get_or_insert_with(|| fields.threads(&self.memory));
        fields.last_frame(&self.memory, *threads.get(&thread)?)
    }

    /// The blob at an address, cached.
    fn blob_at(&mut self, address: u64) -> Option<&mut KnownBlob> {
        let start = match within(&self.blobs, address) {
            Some(start) => start,
            None => self.read_blob(address)?,
        };
        self.blobs.get_mut(&start)
    }

    /// Rechecks all cached blobs and drops those that changed.
    fn recheck(&mut self) {
        let before = self.blobs.len();
        let starts: Vec<u64> = self.blobs.keys().copied().collect();
        let (mut rest, mut heads) = (&starts[..], vec![0; AT_ONCE * HEAD_BYTES]);
        while !rest.is_empty() {
            let at_once = &rest[..rest.len().min(AT_ONCE)];
            let read = self.memory.pieces(at_once, &mut heads[..at_once.len() * HEAD_BYTES]);
            for (start, head) in at_once[..read].iter().zip(heads.as_chunks::<HEAD_BYTES>().0) {
                let memory = ReadAhead::with_piece(&self.memory, *start, head);
                let is_same = |known: &KnownBlob| {
                    self.layout.parse_blob(&memory, *start, Some(&known.blob)).as_ref() == Some(&*known.blob)
                };
                if !self.blobs.get(start).is_some_and(is_same) {
                    self.blobs.remove(start);
                }
            }
            // Unreadable blobs are gone.
            if let Some(start) = at_once.get(read) {
                self.blobs.remove(start);
            }
            rest = &rest[at_once.len().min(read + 1)..];
        }
        if self.blobs.len() < before {
            self.return_sites.retain(|address, _| within(&self.blobs, *address - 1).is_some());
        }
    }

    fn read_blob(&mut self, address: u64) -> Option<u64> {
        if self.blobs.len() + self.methods.len() >= MOST {
            self.blobs.clear();
            self.methods.clear();
            self.return_sites.clear();
        }
        let blob = self.layout.blob(&self.memory, address)?;
        let start = blob.range.start;
        let known = KnownBlob { blob: Arc::new(blob), frames: HashMap::new(), tables: None };
        self.blobs.insert(start, known);
        Some(start)
    }

    /// The frame at an address of a compiled method.
    fn frame(&mut self, blob: &Blob, address: u64, method: u64, names: &mut RuntimeNames) -> Option<u32> {
        let known = self.blobs.get(&blob.range.start).and_then(|known| known.frames.get(&address));
        if let Some(frame) = known {
            return *frame;
        }
        let methods = self.inlined_methods(blob, address).unwrap_or_else(|| vec![method]);
        let methods: Vec<u32> =
            methods.into_iter().filter_map(|method| self.function_number(method, names)).collect();
        let frame = names.frame(&methods);
        if let Some(known) = self.blobs.get_mut(&blob.range.start) {
            known.frames.insert(address, frame);
        }
        frame
    }

    /// The methods there, from tables that are read once.
    fn inlined_methods(&mut self, blob: &Blob, address: u64) -> Option<Vec<u64>> {
        if self.tables > MAX_TABLES {
            self.blobs.values_mut().for_each(|known| known.tables = None);
            self.tables = 0;
        }
        let Self { memory, layout, blobs, tables, .. } = self;
        let known = blobs.get_mut(&blob.range.start)?;
        if known.tables.is_none() {
            let place = blob.tables().unwrap_or(0..0);
            let bytes = memory.bytes(place.start, place.end.saturating_sub(place.start) as usize);
            let bytes = bytes.unwrap_or_default();
            *tables += bytes.len();
            known.tables = Some((place.start, bytes));
        }
        let (from, bytes) = known.tables.as_ref()?;
        layout.inlined_methods(&ReadAhead::with_piece(memory, *from, bytes), blob, address)
    }

    fn function_number(&mut self, method: u64, names: &mut RuntimeNames) -> Option<u32> {
        let Self { memory, layout, methods, .. } = self;
        let find = || names.number(layout.read_method(memory, method)?);
        *methods.entry(method).or_insert_with(find)
    }

    /// Where the caller of a method is, given whether its frame is complete.
    fn caller_location(&self, at: StackPoint, blob: &Blob, entry: u64, complete: u64) -> CallerLocation {
        let (incomplete, is_x86) = (at.instruction < complete, cfg!(target_arch = "x86_64"));
        if !at.innermost {
            return CallerLocation::Framed;
        }
        if incomplete && (at.instruction <= entry || !is_x86) || blob.frame_bytes == 0 {
            return CallerLocation::Frameless;
        }
        let start = if incomplete { entry } else { blob.code };
        let from = at.instruction.saturating_sub(INSTRUCTION_BYTES).max(start);
        let before = at.instruction.saturating_sub(from) as usize;
        let bytes = is_x86.then(|| self.memory.bytes(from, before + INSTRUCTION_BYTES as usize));
        let Some(bytes) = bytes.flatten() else { return CallerLocation::Framed };
        let (before, after) = bytes.split_at(before);
        let code = Instructions { before, after };
        if incomplete { code.entering() } else { code.leaving() }
    }

    fn step_interpreted(
        &mut self,
        at: StackPoint,
        stack: &dyn Fn(u64) -> Option<u64>,
        names: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        let below = at.frame.checked_sub(at.stack);
        let has_frame = below.is_some_and(|below| (LEAST_FRAME..MAX_FRAME).contains(&below));
        let method = stack(at.frame.wrapping_add_signed(METHOD)).filter(|_| has_frame);
        // Without a frame it is between two methods.
        let method = method.and_then(|method| self.function_number(method, names));
        let Some(frame) = method.and_then(|method| names.frame(&[method])) else {
            frames.extend(names.single_frame(stub("Interpreter")).map(Frame::Named));
            return None;
        };
        frames.push(Frame::Named(frame));
        let sender = stack(at.frame.wrapping_add_signed(SENDER))?;
        Some(StackPoint {
            instruction: stack(at.frame.wrapping_add(RETURN))?,
            stack: sender,
            frame: stack(at.frame)?,
            link: 0,
            innermost: false,
            whole: at.whole,
        })
        .filter(|next| next.stack > at.stack)
    }

    /// A runtime stub: with a frame of known size, with a frame pointer, or without a frame.
    fn step_stub(
        &mut self,
        at: StackPoint,
        blob: &Blob,
        stack: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<StackPoint> {
        if at.innermost {
            // An address that leads back to other code is not a saved register.
            let mut leads_back = |address: u64| self.has(address) && self.blob_at(address).is_some();
            if at.link != 0 && leads_back(at.link) {
                return Some(StackPoint { instruction: at.link, link: 0, innermost: false, ..at });
            }
            if stack(at.stack).is_some_and(leads_back) {
                return at.caller(at.stack, at.frame, stack);
            }
        } else if blob.frame_bytes > 0 && at.instruction != self.layout.call_stub_return {
            return framed(at, blob.frame_bytes, stack);
        }
        let inside = at.frame >= at.stack && at.frame - at.stack < MAX_FRAME;
        at.caller(at.frame.wrapping_add(8), stack(at.frame)?, stack).filter(|_| inside)
    }
}

impl<M: ForeignMemory> Runtime for HotSpot<M> {
    fn has(&self, address: u64) -> bool {
        self.layout.contains(address)
    }

    fn step(
        &mut self,
        at: StackPoint,
        stack: &dyn Fn(u64) -> Option<u64>,
        names: &mut RuntimeNames,
        frames: &mut Vec<Frame>,
    ) -> Option<StackPoint> {
        if let Some(known) = self.return_sites.get(&at.instruction).filter(|_| !at.innermost) {
            frames.push(Frame::Named(known.frame));
            return framed(at, known.frame_bytes, stack);
        }
        let within = at.within();
        let Some(known) = self.blob_at(within) else {
            frames.push(Frame::Address(within));
            return None;
        };
        let blob = Arc::clone(&known.blob);
        match &blob.kind {
            BlobKind::Method { method, entry, complete, .. } => {
                let edge = self.caller_location(at, &blob, *entry, *complete);
                let frame = self.frame(&blob, at.instruction, *method, names);
                frames.push(frame.map_or(Frame::Address(within), Frame::Named));
                if let Some(frame) = frame.filter(|_| !at.innermost && self.return_sites.len() < MOST) {
                    self.return_sites
                        .insert(at.instruction, ReturnSite { frame, frame_bytes: blob.frame_bytes });
                }
                match edge {
                    CallerLocation::Framed => framed(at, blob.frame_bytes, stack),
                    CallerLocation::Frameless if at.link != 0 => {
                        Some(StackPoint { instruction: at.link, link: 0, innermost: false, ..at })
                    }
                    CallerLocation::Frameless => at.caller(at.stack, at.frame, stack),
                    CallerLocation::Pushed => at.caller(at.stack.wrapping_add(8), stack(at.stack)?, stack),
                }
            }
            BlobKind::Interpreter => self.step_interpreted(at, stack, names, frames),
            BlobKind::Stub(name) => {
                if at.innermost {
                    frames.extend(names.single_frame(stub(name)).map(Frame::Named));
                }
                // A virtual thread that has waited: its callers stay in the heap until it returns to them.
                if !at.innermost && name.to_ascii_lowercase().contains("continuation") {
                    frames.extend(names.single_frame(stub("[callers in the heap]")).map(Frame::Named));
                    // Until JDK 23 the tables do not locate the carrier's continuation, but the frame leads
                    // there.
                    let Some((instruction, bytes)) = self.layout.continuation else {
                        let next = self.step_stub(at, &blob, stack);
                        return next.map(|next| StackPoint { whole: false, ..next });
                    };
                    let frame = stack(at.stack.wrapping_add(bytes))?;
                    return Some(StackPoint { instruction, frame, whole: false, ..at });
                }
                self.step_stub(at, &blob, stack)
            }
        }
    }
}

/// Start of the blob that contains an address.
fn within(blobs: &BTreeMap<u64, KnownBlob>, address: u64) -> Option<u64> {
    let (start, known) = blobs.range(..=address).next_back()?;
    known.blob.range.contains(&address).then_some(*start)
}

/// From a frame of this size to its caller: the return address is at its end, preceded by the saved frame
/// pointer.
fn framed(at: StackPoint, bytes: u64, stack: &dyn Fn(u64) -> Option<u64>) -> Option<StackPoint> {
    let end = at.stack.checked_add(bytes).filter(|_| bytes >= 16)?;
    at.caller(end - 8, stack(end - 16)?, stack)
}

/// A function that is not a method.
fn stub(name: &str) -> RuntimeFunction {
    RuntimeFunction { module: "[JVM]".to_owned(), name: name.to_owned(), file: None, line: None }
}
