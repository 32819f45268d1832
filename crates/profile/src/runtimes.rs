//! The language runtimes of a process, which generate or interpret code, and their stacks.

use crate::code_files::CodeFiles;
use crate::elf::{Elf, RUNTIME, VERSION};
use crate::hotspot::HotSpot;
use crate::memory::{ForeignMemory as _, ProcessMemory};
use crate::perf_record::StackSample;
use crate::python::{Interpreter, InterpreterCode};
use crate::runtime_names::RuntimeNames;
use crate::unwind::Stack;
use crate::v8::{Builtins, Layout, V8};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum interval between attempts to open a runtime.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Python's evaluation loop, which is in several parts.
const LOOP: &[u8] = b"_PyEval_EvalFrameDefault";

#[derive(Clone, Default)]
pub struct Runtimes {
    pub java: Option<Java>,
    pub python: Option<Python>,
    pub javascript: Option<JavaScript>,
}

impl Runtimes {
    /// Adds the runtimes in a file mapped there.
    pub fn add(&mut self, place: Range<u64>, file: (u32, u64), elf: &Elf) {
        if elf.symbol_address(RUNTIME).is_some() {
            self.python = Some(Python::of(place, file, elf));
        } else if !elf.runtime_symbols.is_empty() {
            self.java = Some(Java { library: file, vm: None, last_try: None });
        }
        // It is mapped in several parts.
        let is_known = self.javascript.as_ref().is_some_and(|javascript| javascript.file == file.0);
        if let Some(layout) = Layout::of(&elf.v8_constants).filter(|_| !is_known) {
            let builtins = Arc::new(Builtins::of(&elf.symbols));
            self.javascript = Some(JavaScript { file: file.0, builtins, layout, v8: None });
        }
    }

    /// The runtimes in a process just forked: a Java VM does not survive a fork, others do.
    pub fn inherited(&self) -> Self {
        let javascript = self.javascript.clone().map(|javascript| JavaScript { v8: None, ..javascript });
        Self { java: None, python: self.python.as_ref().map(Python::for_child), javascript }
    }

    /// Whether stacks must be read immediately after their samples.
    pub fn needs_immediate_reads(&self) -> bool {
        self.python.is_some() || self.javascript.is_some()
    }
}

#[derive(Clone)]
pub struct Java {
    /// Its library and load bias.
    library: (u32, u64),
    /// Some once opened.
    pub vm: Option<HotSpot<ProcessMemory>>,
    last_try: Option<Instant>,
}

#[derive(Clone)]
pub struct Python {
    /// Its file and load bias.
    file: (u32, u64),
    code: InterpreterCode,
    /// Some once opened.
    interpreter: Option<Interpreter<ProcessMemory>>,
    last_try: Option<Instant>,
    /// TIDs in the process's namespace, by ours.
    threads: HashMap<u32, u32>,
}

#[derive(Clone)]
pub struct JavaScript {
    /// Index of its file.
    file: u32,
    builtins: Arc<Builtins>,
    layout: Layout,
    /// Some once opened.
    v8: Option<V8<ProcessMemory>>,
}

impl Java {
    /// Opens the VM, unless that was tried just now.
    pub fn open(&mut self, pid: u32, files: &CodeFiles) {
        if self.vm.is_some() || self.last_try.is_some_and(|looked| looked.elapsed() < LOOK_AGAIN) {
            return;
        }
        self.last_try = Some(Instant::now());
        let (file, bias) = self.library;
        let elf = files.get(file).and_then(|file| file.elf.as_ref().ok());
        self.vm = elf.and_then(|elf| HotSpot::of(ProcessMemory(pid), &elf.runtime_symbols, bias));
    }
}

impl Python {
    /// The interpreter in this file, with its code mapped at `module`.
    fn of(module: Range<u64>, file: (u32, u64), elf: &Elf) -> Self {
        let loops = elf.symbols.beginning_with(LOOP);
        let place = |(at, size, _): (u64, u64, &[u8])| Some(at..at.checked_add(size)?);
        let moved = |place: Range<u64>| place.start.wrapping_add(file.1)..place.end.wrapping_add(file.1);
        let loops = loops.filter_map(place).map(moved).collect();
        let code = InterpreterCode { module, loops };
        Self { file, code, interpreter: None, last_try: None, threads: HashMap::new() }
    }

    /// The same, in another process.
    fn for_child(&self) -> Self {
        Self { interpreter: None, last_try: None, threads: HashMap::new(), ..self.clone() }
    }

    /// Inserts Python's functions into a stack.
    pub fn insert_frames(
        &mut self,
        stack: &mut Stack,
        sample: &StackSample<'_>,
        files: &CodeFiles,
        names: &mut RuntimeNames,
    ) {
        self.open(sample.pid, files);
        let Some(interpreter) = &mut self.interpreter else { return };
        let inside = || namespace_tid(sample.pid, sample.tid).unwrap_or(sample.tid);
        let thread = *self.threads.entry(sample.tid).or_insert_with(inside);
        interpreter.replace_frames(stack, thread, &self.code, names);
    }

    /// Opens the interpreter, unless that was tried just now.
    fn open(&mut self, pid: u32, files: &CodeFiles) {
        if self.interpreter.is_some() || self.last_try.is_some_and(|looked| looked.elapsed() < LOOK_AGAIN) {
            return;
        }
        self.last_try = Some(Instant::now());
        let (file, bias) = self.file;
        let Some(file) = files.get(file) else { return };
        let Ok(elf) = &file.elf else { return };
        let memory = ProcessMemory(pid);
        let version = elf.symbol_address(VERSION).and_then(|at| memory.word(at.wrapping_add(bias)));
        // `python3.8`, `libpython3.10.so.1.0`.
        let named = || file.name.split_once("python3.")?.1.split('.').next()?.parse().ok();
        let minor = version.map(|version| version >> 16 & 0xFF).or_else(named);
        let runtime = elf.symbol_address(RUNTIME).map(|at| at.wrapping_add(bias));
        self.interpreter = runtime.and_then(|runtime| Interpreter::of(memory, runtime, minor));
    }
}

impl JavaScript {
    /// Its file, its builtins, and what is known of it in this process.
    pub fn parts(&mut self, pid: u32) -> (u32, &Builtins, &mut V8<ProcessMemory>) {
        let Self { file, builtins, layout, v8 } = self;
        (*file, builtins, v8.get_or_insert_with(|| V8::with(ProcessMemory(pid), *layout)))
    }
}

/// A thread's id within its own PID namespace.
pub fn namespace_tid(pid: u32, tid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    procfs::field(&status, "NSpid")?.split_whitespace().next_back()?.parse().ok()
}
