//! The files of code that processes have mapped, each read once.

use crate::elf::Elf;
use object::ReadCache;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

/// Larger files are not read.
const MOST_BYTES: u64 = 1 << 30;
/// Files of one profile at most.
const MOST_MODULES: usize = 10_000;

/// A file of code.
#[derive(Debug)]
pub struct CodeFile {
    /// Its name without its folder.
    pub name: String,
    /// What is known of it, or why nothing is.
    pub elf: Result<Elf, String>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct CodeFiles {
    list: Vec<CodeFile>,
    places: HashMap<Vec<u8>, u32>,
}

impl CodeFiles {
    /// The place of the file that a process has mapped from this path, which is read if it is new; none if there are too many.
    pub fn mapped_by(&mut self, pid: u32, path: &[u8]) -> Option<u32> {
        self.of(path, || {
            let shown = String::from_utf8_lossy(path).into_owned();
            open(pid, &shown).map(|elf| with_names(elf, pid))
        })
    }

    /// The place of what the kernel maps into a process, `[vdso]`.
    pub fn vdso(&mut self, bytes: impl FnOnce() -> Result<Vec<u8>, String>) -> Option<u32> {
        self.of(b"[vdso]", || bytes().and_then(|bytes| Elf::read(bytes.as_slice())))
    }

    fn of(&mut self, path: &[u8], elf: impl FnOnce() -> Result<Elf, String>) -> Option<u32> {
        if let Some(place) = self.places.get(path) {
            return Some(*place);
        }
        if self.list.len() >= MOST_MODULES {
            return None;
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let place = self.list.len() as u32;
        self.list
            .push(CodeFile { name: crate::demangle::sanitize(&String::from_utf8_lossy(name)), elf: elf() });
        self.places.insert(path.to_vec(), place);
        Some(place)
    }

    /// One of them.
    pub fn get(&self, place: u32) -> Option<&CodeFile> {
        self.list.get(place as usize)
    }
}

/// What is needed of a file as a process sees it. One that was replaced meanwhile is another file, and is not taken for it.
fn open(pid: u32, path: &str) -> Result<Elf, String> {
    let (path, is_replaced) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let program = format!("/proc/{pid}/exe");
    let is_program = fs::read_link(&program)
        .is_ok_and(|link| link.to_string_lossy().trim_end_matches(" (deleted)") == path);
    if is_program {
        return read(Path::new(&program));
    }
    if is_replaced {
        return Err("it was replaced while it runs".to_owned());
    }
    // Of a process that has ended meanwhile the root is gone; most have ours.
    read(&Path::new(&format!("/proc/{pid}/root")).join(path.trim_start_matches('/')))
        .or_else(|_| read(Path::new(path)))
}

fn read(path: &Path) -> Result<Elf, String> {
    let file = File::open(path).map_err(|why| why.to_string())?;
    let about = file.metadata().map_err(|why| why.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > MOST_BYTES {
        return Err("it is larger than 1 GiB".to_owned());
    }
    Elf::read(&ReadCache::new(file))
}

/// A stripped file with the names of its debug file, if that is installed: for the process, or here.
fn with_names(mut elf: Elf, pid: u32) -> Elf {
    let Some([first, rest @ ..]) = elf.build_id.as_deref().filter(|_| !elf.has_all) else { return elf };
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("usr/lib/debug/.build-id/{first:02x}/{rest}.debug");
    let places = [format!("/proc/{pid}/root/{path}"), format!("/{path}")];
    let names = places.iter().find_map(|place| read(Path::new(place)).ok());
    // Whatever lies there says by itself whose names it has.
    if let Some(names) = names.filter(|names| names.build_id == elf.build_id) {
        elf.take_names(names);
    }
    elf
}
