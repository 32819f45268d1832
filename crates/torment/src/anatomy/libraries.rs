//! A program's libraries, found as its loader would.

use crate::{CommandError, usage_error};
use ::anatomy::{
    Binary, Error, Executable, Image, Libraries, Library, LibrarySearch, Linkage, LoaderCache,
    library_candidates,
};
use anyhow::{Context, anyhow};
use std::collections::{BTreeSet, VecDeque};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// A script's interpreter may be a script; the kernel follows four (execve(2)).
const SCRIPTS_MOST: usize = 4;

pub fn libraries_of(program: &Path) -> Result<Libraries, CommandError> {
    let mut notes = Vec::new();
    let (path, bytes, binary) = program_of(program, &mut notes)?;
    let is_library = binary.kind == Linkage::Library;
    let is_static = !is_library && binary.needed.is_empty();
    let mut found =
        Libraries { program: path, is_static, is_library, all: Vec::new(), missing: Vec::new(), notes };
    if is_static || is_library {
        // The function in question may be in the program itself.
        let soname = binary.soname.clone().unwrap_or_else(|| found.program.display().to_string());
        let names = binary.build_id.as_deref().and_then(names_for);
        found.all.push(Library { soname, path: found.program.clone(), bytes, names, binary: binary.clone() });
    }
    let library_paths = LibraryPaths::read(&binary);
    let mut known: BTreeSet<String> = binary.needed.iter().cloned().collect();
    let needs = |from: &Path, binary: &Binary| {
        let all = binary.needed.iter().map(|name| (name.clone(), from.to_owned(), binary.clone()));
        all.collect::<Vec<_>>()
    };
    let mut waiting = VecDeque::from(needs(&found.program, &binary));
    // In the loader's order: the program's libraries, then theirs.
    while let Some((name, from, by)) = waiting.pop_front() {
        match library_paths.find(&name, &from, &by) {
            Some(library) => {
                let new = needs(&library.path, &library.binary);
                waiting.extend(new.into_iter().filter(|(name, ..)| known.insert(name.clone())));
                found.all.push(library);
            }
            None => found.missing.push(name),
        }
    }
    if found.all.is_empty() {
        let message = format!(
            "none of the libraries of '{}' was found: {}",
            found.program.display(),
            found.missing.join(", ")
        );
        return Err(anyhow!(message).into());
    }
    Ok(found)
}

pub fn images(libraries: &Libraries) -> Result<Vec<Image<'_>>, CommandError> {
    let image = |library| {
        let Library { path, bytes, names, .. }: &Library = library;
        let mut image = Image::read(bytes).with_context(|| format!("'{}'", path.display()))?;
        if let Some((_, names)) = names {
            // Symbols of another build would be wrong; without symbols it is still right.
            let _ = image.add_names(names);
        }
        Ok(image)
    };
    libraries.all.iter().map(image).collect()
}

/// A name without a slash is looked up in the search path, unless there is such a file here.
pub fn locate(program: &Path) -> PathBuf {
    let name_only = program.components().count() == 1 && !program.is_absolute() && !program.exists();
    let found = || {
        let folders = env::var_os("PATH")?;
        env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    name_only.then(found).flatten().unwrap_or_else(|| program.to_owned())
}

/// Reads a file; the error names it.
pub fn read_file(path: &Path) -> Result<Vec<u8>, CommandError> {
    let shown = path.display();
    let about = fs::metadata(path).with_context(|| format!("cannot read '{shown}'")).map_err(usage_error)?;
    if !about.is_file() {
        let what = if about.is_dir() { "a folder" } else { "no regular file" };
        return Err(usage_error(anyhow!("'{shown}' is {what}: expected a program or a library")));
    }
    fs::read(path).with_context(|| format!("cannot read '{shown}'")).map_err(usage_error)
}

/// The program itself, or a script's interpreter.
fn program_of(program: &Path, notes: &mut Vec<String>) -> Result<(PathBuf, Vec<u8>, Binary), CommandError> {
    let mut path = locate(program);
    for _ in 0..=SCRIPTS_MOST {
        let bytes = read_file(&path)?;
        let named = |why: Error| usage_error(anyhow!("'{}' is {why}", path.display()));
        match ::anatomy::read_executable(&bytes).map_err(named)? {
            Executable::Elf(binary) => {
                let path = fs::canonicalize(&path).unwrap_or(path);
                return Ok((path, bytes, *binary));
            }
            Executable::Script(script) => {
                notes.push(format!(
                    "{} is a script: reading {}, which runs it",
                    path.display(),
                    script.interpreter
                ));
                path = script.interpreter.into();
            }
        }
    }
    Err(usage_error(anyhow!(
        "'{}' is a script run by a script run by a script: name a program",
        program.display()
    )))
}

/// Where a loader looks.
pub struct LibraryPaths {
    interpreter: Option<String>,
    cache: LoaderCache,
    library_path: Option<String>,
    musl_path: Option<String>,
}

impl LibraryPaths {
    /// For the program that asks for this loader. Unreadable entries count as absent, as for the loader.
    pub fn read(program: &Binary) -> Self {
        let interpreter = program.interpreter.clone();
        let musl = interpreter.as_deref().and_then(|loader| {
            let name = Path::new(loader).file_name()?.to_str()?.strip_suffix(".so.1")?;
            fs::read_to_string(format!("/etc/{name}.path")).ok()
        });
        Self {
            interpreter,
            cache: fs::read("/etc/ld.so.cache").map(|bytes| LoaderCache::parse(&bytes)).unwrap_or_default(),
            library_path: env::var("LD_LIBRARY_PATH").ok().filter(|path| !path.is_empty()),
            musl_path: musl,
        }
    }

    /// The library of this name that the loader would take for `by`, which is at `from`: the first for the same
    /// architecture.
    pub fn find(&self, name: &str, from: &Path, by: &Binary) -> Option<Library> {
        let origin = from.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
        let at = LibrarySearch {
            binary: by,
            origin: &origin,
            interpreter: self.interpreter.as_deref(),
            library_path: self.library_path.as_deref(),
            cache: &self.cache,
            musl_path: self.musl_path.as_deref(),
        };
        library_candidates(name, &at).into_iter().find_map(|place| {
            let path = fs::canonicalize(place).ok()?;
            let bytes = fs::read(&path).ok()?;
            let Ok(Executable::Elf(binary)) = ::anatomy::read_executable(&bytes) else { return None };
            let same = |b: &Binary| (b.machine, b.bits, b.big_endian);
            (same(&binary) == same(by)).then(|| Library {
                soname: name.to_owned(),
                names: binary.build_id.as_deref().and_then(names_for),
                path,
                bytes,
                binary: *binary,
            })
        })
    }
}

/// Where distributions put debug symbols: by build ID, its first byte a folder.
fn names_for(build_id: &[u8]) -> Option<(PathBuf, Vec<u8>)> {
    let hexadecimal: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hexadecimal.split_at_checked(2)?;
    let path = PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
    Some((path.clone(), fs::read(path).ok()?))
}
