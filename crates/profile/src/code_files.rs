//! The code files that processes have mapped, each read once.

use crate::elf::Elf;
use object::ReadCache;
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

/// Larger files are not read.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum files per profile.
const MAX_MODULES: usize = 10_000;

#[derive(Debug)]
pub struct CodeFile {
    /// File name without its folder.
    pub name: String,
    /// Its contents, or why they could not be read.
    pub elf: Result<Elf, String>,
}

#[derive(Debug, Default)]
pub struct CodeFiles {
    list: Vec<CodeFile>,
    by_path: HashMap<Vec<u8>, u32>,
}

impl CodeFiles {
    /// The index of the file that a process has mapped from this path, reading it if new; none if there are
    /// too many.
    pub fn mapped_by(&mut self, pid: u32, path: &[u8]) -> Option<u32> {
        self.of(path, || {
            let shown = String::from_utf8_lossy(path).into_owned();
            open(pid, &shown).map(|elf| with_names(elf, pid))
        })
    }

    /// The index of `[vdso]`, which the kernel maps into every process.
    pub fn vdso(&mut self, bytes: impl FnOnce() -> Result<Vec<u8>, String>) -> Option<u32> {
        self.of(b"[vdso]", || bytes().and_then(|bytes| Elf::read(bytes.as_slice())))
    }

    fn of(&mut self, path: &[u8], elf: impl FnOnce() -> Result<Elf, String>) -> Option<u32> {
        if let Some(place) = self.by_path.get(path) {
            return Some(*place);
        }
        if self.list.len() >= MAX_MODULES {
            return None;
        }
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        let place = self.list.len() as u32;
        self.list
            .push(CodeFile { name: crate::demangle::sanitize(&String::from_utf8_lossy(name)), elf: elf() });
        self.by_path.insert(path.to_vec(), place);
        Some(place)
    }

    pub fn get(&self, place: u32) -> Option<&CodeFile> {
        self.list.get(place as usize)
    }
}

/// Reads a file as the process sees it. A file replaced meanwhile is a different file and is rejected.
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
    // The root of a process that has ended is gone; most share ours.
    read(&Path::new(&format!("/proc/{pid}/root")).join(path.trim_start_matches('/')))
        .or_else(|_| read(Path::new(path)))
}

fn read(path: &Path) -> Result<Elf, String> {
    let file = File::open(path).map_err(|why| why.to_string())?;
    let about = file.metadata().map_err(|why| why.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.len() > MAX_BYTES {
        return Err("it is larger than 1 GiB".to_owned());
    }
    Elf::read(&ReadCache::new(file))
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds the names of a stripped file from its debug file, if that is installed for the process or here.
fn with_names(mut elf: Elf, pid: u32) -> Elf {
    let Some([first, rest @ ..]) = elf.build_id.as_deref().filter(|_| !elf.has_all_functions) else {
        return elf;
    };
    let path = format!("usr/lib/debug/.build-id/{first:02x}/{}.debug", hexadecimal(rest));
    let places = [format!("/proc/{pid}/root/{path}"), format!("/{path}")];
    let names = places.iter().find_map(|place| read(Path::new(place)).ok());
    // The build id tells whose names it has.
    if let Some(names) = names.filter(|names| names.build_id == elf.build_id) {
        elf.take_names(names);
    }
    elf
}
