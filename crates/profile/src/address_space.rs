//! A process's executable mappings, and how its stacks are unwound.

use crate::code_files::CodeFiles;
use crate::hotspot::HotSpot;
use crate::memory::ProcessMemory;
use crate::perf_record::{MmapRecord, StackSample};
use crate::runtime::Runtime;
use crate::runtime_names::RuntimeNames;
use crate::runtimes::{Runtimes, namespace_tid};
use crate::unwind::{CodeChecks, Stack, UnwindCache, Unwinder, call_target, reborrow, unwind_module};
use crate::v8::{V8Code, V8Runtime};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Mappings kept per process; the kernel's own limit is close.
const MAX_MAPPINGS: usize = 100_000;
/// Largest `[vdso]` accepted, in bytes.
const MAX_VDSO: u64 = 1 << 20;
/// Minimum interval between two checks for new code.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Where an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeLocation {
    /// A file, at this address as the file states it; or at this file offset, if the file could not be
    /// read.
    File(u32, u64),
    /// Code generated at run time.
    Generated(u64),
}

/// An executable mapping.
#[derive(Debug, Clone)]
struct CodeMapping {
    end: u64,
    /// Its file, and the bias: address in memory minus address stated by the file (wrapping).
    file: Option<(u32, u64)>,
}

/// The executable mappings of a process.
#[derive(Clone, Default)]
pub struct AddressSpace {
    mappings: BTreeMap<u64, CodeMapping>,
    unwinder: Unwinder,
    last_read: Option<Instant>,
    runtimes: Runtimes,
}

impl AddressSpace {
    /// The mappings of a running process; empty if they may not be read.
    pub fn of(pid: u32, files: &mut CodeFiles) -> Self {
        let mut space = Self::default();
        space.read_mappings(pid, files);
        space
    }

    /// Reads the current mappings.
    fn read_mappings(&mut self, pid: u32, files: &mut CodeFiles) {
        self.last_read = Some(Instant::now());
        let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.split(|byte| *byte == b'\n').take(MAX_MAPPINGS) {
            if let Some((start, length, offset, path)) = executable(line) {
                let known = self.mappings.get(&start).is_some_and(|piece| piece.end == start + length);
                if !known {
                    self.map(&MmapRecord { pid, start, length, offset, path }, files);
                }
            }
        }
    }

    /// Adds a mapping, replacing whatever was there.
    pub fn map(&mut self, mapped: &MmapRecord<'_>, files: &mut CodeFiles) {
        let MmapRecord { pid, start, length, offset, path } = *mapped;
        let Some(end) = start.checked_add(length).filter(|end| *end > start) else { return };
        let overlapping = self.mappings.range(..end).rev().take_while(|(_, piece)| piece.end > start);
        let overlapping: Vec<u64> = overlapping.map(|(start, _)| *start).collect();
        for old in overlapping {
            self.mappings.remove(&old);
            self.unwinder.remove_module(old);
        }
        if self.mappings.len() >= MAX_MAPPINGS {
            return;
        }
        let file = match path {
            b"[vdso]" => files.vdso(|| vdso(pid, start, length)),
            // Not files: anonymous memory, shared memory, the heap.
            [b'/', b'/', ..] | [b'[', ..] | b"" => None,
            path if path.starts_with(b"/memfd:") || path.starts_with(b"/dev/") => None,
            path => files.mapped_by(pid, path),
        };
        let file = file.map(|file| {
            let elf = files.get(file).and_then(|file| file.elf.as_ref().ok());
            let stated = elf.and_then(|elf| elf.address_of(offset)).unwrap_or(offset);
            let bias = start.wrapping_sub(stated);
            if let Some(module) = elf.and_then(|elf| unwind_module(start..end, bias, &elf.tables)) {
                self.unwinder.add_module(module);
            }
            if let Some(elf) = elf {
                self.runtimes.add(start..end, (file, bias), elf);
            }
            (file, bias)
        });
        self.mappings.insert(start, CodeMapping { end, file });
    }

    /// Unwinds a sample's stack; functions that only the process can name are added to `made`.
    pub fn unwind(
        &mut self,
        sample: &StackSample<'_>,
        rules: &mut UnwindCache,
        files: &CodeFiles,
        names: &mut RuntimeNames,
    ) -> Stack {
        let (mappings, unwinder, runtimes) = (&self.mappings, &self.unwinder, &mut self.runtimes);
        if let Some(java) = &mut runtimes.java {
            java.open(sample.pid, files);
            java.vm.iter_mut().for_each(HotSpot::begin);
        }
        let mut machine = runtimes.java.as_mut().and_then(|java| java.vm.as_mut());
        let thread = || namespace_tid(sample.pid, sample.tid).unwrap_or(sample.tid);
        let anchor = machine
            .as_mut()
            .filter(|_| sample.is_waiting)
            .and_then(|machine| machine.last_java_frame(thread()));
        let (code, mut running);
        let mut runtime: Option<&mut dyn Runtime> = match (machine, &mut runtimes.javascript) {
            (Some(machine), _) => Some(machine),
            (None, Some(javascript)) => {
                let (file, builtins, v8) = javascript.parts(sample.pid);
                code = move |address| match locate(mappings, address) {
                    Some(CodeLocation::File(of, address)) if of == file => builtins.code(address),
                    Some(CodeLocation::File(..)) => None,
                    // Nothing announces memory that becomes code later.
                    Some(CodeLocation::Generated(_)) | None => Some(V8Code::Generated),
                };
                running = V8Runtime { v8, code: &code };
                Some(&mut running)
            }
            (None, None) => None,
        };
        let mut stack = unwinder.unwind(sample, rules, reborrow(&mut runtime), names);
        if sample.is_waiting {
            let is_code = |address: u64| locate(mappings, address).is_some();
            let runtime = runtime.map(|runtime| (runtime, anchor));
            let memory = ProcessMemory(sample.pid);
            let call_target = |return_address| call_target(&memory, return_address);
            let checks = CodeChecks { is_code: &is_code, call_target: &call_target };
            unwinder.complete(&mut stack, sample, rules, runtime, names, &checks);
        }
        if let Some(python) = &mut runtimes.python {
            python.insert_frames(&mut stack, sample, files, names);
        }
        stack
    }

    /// The address space of a process just forked.
    pub fn inherited(&self) -> Self {
        Self { runtimes: self.runtimes.inherited(), ..self.clone() }
    }

    /// Whether stacks must be read immediately after their samples.
    pub fn needs_immediate_reads(&self) -> bool {
        self.runtimes.needs_immediate_reads()
    }

    /// Whether there is a Java VM that could not be read.
    pub fn has_unreadable_java(&self) -> bool {
        self.runtimes.java.as_ref().is_some_and(|java| java.vm.is_none())
    }

    /// What an address lies in; none: no code.
    pub fn locate(&self, address: u64) -> Option<CodeLocation> {
        locate(&self.mappings, address)
    }

    /// Like [`Self::locate`]; if no code is known there, rereads the mappings: nothing announces memory that
    /// becomes code later, as JIT compilers produce it.
    pub fn locate_now(&mut self, address: u64, pid: u32, files: &mut CodeFiles) -> Option<CodeLocation> {
        if let Some(place) = self.locate(address) {
            return Some(place);
        }
        if self.last_read.is_some_and(|looked| looked.elapsed() < LOOK_AGAIN) {
            return None;
        }
        self.read_mappings(pid, files);
        self.locate(address)
    }
}

fn locate(mappings: &BTreeMap<u64, CodeMapping>, address: u64) -> Option<CodeLocation> {
    let (_, piece) = mappings.range(..=address).next_back().filter(|(_, piece)| address < piece.end)?;
    Some(match piece.file {
        Some((file, bias)) => CodeLocation::File(file, address.wrapping_sub(bias)),
        None => CodeLocation::Generated(address),
    })
}

/// Parses a line of /proc/PID/maps, if executable: start, length, file offset, path.
fn executable(line: &[u8]) -> Option<(u64, u64, u64, &[u8])> {
    let mut words = line.splitn(6, |byte| *byte == b' ');
    let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
    if access.get(2) != Some(&b'x') {
        return None;
    }
    let path = words.nth(2).unwrap_or_default().trim_ascii();
    let hexadecimal = |text: &[u8]| u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok();
    let mut ends = range.splitn(2, |byte| *byte == b'-');
    let (start, end) = (hexadecimal(ends.next()?)?, hexadecimal(ends.next()?)?);
    // The legacy vsyscall page is no address of the process.
    (path != b"[vsyscall]").then_some((start, end.checked_sub(start)?, hexadecimal(offset)?, path))
}

/// Reads the `[vdso]` from the process's memory.
fn vdso(pid: u32, start: u64, length: u64) -> Result<Vec<u8>, String> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("no process")?;
    let mut bytes = vec![0; length.min(MAX_VDSO) as usize];
    sys::read_memory(pid, start, &mut bytes).map_err(|why| why.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_alone_is_taken_from_a_list() {
        for (line, expected) in [
            (
                "7f00-7f80 r-xp 00001000 fe:00 4711                       /usr/lib/a b.so",
                Some((0x7f00, 0x80, 0x1000, "/usr/lib/a b.so")),
            ),
            ("7f00-7f80 rwxp 00000000 00:00 0 ", Some((0x7f00, 0x80, 0, ""))),
            ("7f00-7f80 rw-p 00000000 00:00 0 [heap]", None),
            ("7f80-7f00 r-xp 00000000 00:00 0", None),
            ("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]", None),
            ("x-y r-xp 0 0 0", None),
            ("", None),
        ] {
            let expected = expected.map(|(start, length, offset, path): (_, _, _, &str)| {
                (start, length, offset, path.as_bytes())
            });
            assert_eq!(executable(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn what_is_mapped_later_takes_the_place() {
        let (mut space, mut files) = (AddressSpace::default(), CodeFiles::default());
        let map = |start, length| MmapRecord { pid: 0, start, length, offset: 0, path: b"" };
        space.map(&map(100, 100), &mut files);
        space.map(&map(300, 100), &mut files);
        space.map(&map(150, 10), &mut files);
        space.map(&map(u64::MAX, 10), &mut files);
        for (address, expected) in [
            (99, None),
            (100, None),
            (150, Some(CodeLocation::Generated(150))),
            (160, None),
            (399, Some(CodeLocation::Generated(399))),
            (400, None),
        ] {
            assert_eq!(space.locate(address), expected, "{address}");
        }
    }

    #[test]
    fn this_process() {
        let mut files = CodeFiles::default();
        let space = AddressSpace::of(std::process::id(), &mut files);
        let here = this_process as fn() as usize as u64;
        let Some(CodeLocation::File(file, address)) = space.locate(here) else {
            panic!("it is code of a file")
        };
        let file = files.get(file).expect("it was read");
        let (_, name) = file.elf.as_ref().expect("it is ELF").symbols.find(address).expect("it has a name");
        assert!(crate::demangle::demangle(name).ends_with("this_process"), "{}", file.name);
    }
}
