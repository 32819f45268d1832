//! Finds the program along PATH, once, before anything is started.

use crate::Error;
use anatomy::Executable;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The search path if the environment has none (execvp(3)).
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// An executable program, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramCommand {
    /// The file.
    pub path: PathBuf,
    /// Its name as typed, and its arguments.
    pub argv: Vec<OsString>,
    /// Added to torment's own environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl ProgramCommand {
    /// Finds the program that `words` begins with, as a shell would: a name with a slash is a file, any other
    /// is searched for in the folders of `search`, the environment's PATH.
    ///
    /// Fails if there is none, or if it cannot be executed, and says what was looked at.
    pub fn find(words: &[OsString], search: Option<&OsStr>) -> Result<Self, Error> {
        let [name, ..] = words else { return Err(Error::NoCommand) };
        if name.is_empty() {
            return Err(Error::NoCommand);
        }
        let command = |path: PathBuf| Self { path, argv: words.to_vec(), environment: Vec::new() };
        if name.as_bytes().contains(&b'/') {
            let path = PathBuf::from(name);
            return check_executable(&path).map(|()| command(path));
        }
        let search = search.filter(|search| !search.is_empty()).unwrap_or(OsStr::new(DEFAULT_PATH));
        let mut refused = None;
        for folder in std::env::split_paths(search) {
            // An empty entry is the current directory.
            let path =
                if folder.as_os_str().is_empty() { Path::new(".").join(name) } else { folder.join(name) };
            match check_executable(&path) {
                Ok(()) => return Ok(command(path)),
                // A directory of that name, or a file without the permission, is skipped as by a shell.
                Err(why) if path.is_file() => refused = refused.or(Some(why)),
                Err(_) => {}
            }
        }
        Err(refused
            .unwrap_or_else(|| Error::NotFound { name: name.clone(), searched: Some(search.to_owned()) }))
    }

    /// A copy with one more environment variable.
    pub fn with_env(&self, (name, value): (&str, &str)) -> Self {
        let mut other = self.clone();
        other.environment.push((name.into(), value.into()));
        other
    }

    /// Whether its program, or a script's interpreter, is loaded by glibc's loader.
    pub fn uses_glibc_loader(&self) -> bool {
        let loader = match read(&self.path) {
            Some(Executable::Script(script)) => loader(Path::new(&script.interpreter)),
            Some(Executable::Elf(binary)) => binary.interpreter,
            None => None,
        };
        loader.is_some_and(|loader| loader.contains("/ld-linux"))
    }

    /// As typed into a shell.
    pub fn shell_text(&self) -> String {
        let words: Vec<String> = self.argv.iter().map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }
}

/// Checks that the kernel would execute it, as far as visible from outside.
fn check_executable(path: &Path) -> Result<(), Error> {
    let refused = |why: &str| Error::NotExecutable { path: path.to_owned(), why: why.to_owned() };
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            return Err(Error::NotFound { name: path.as_os_str().to_owned(), searched: None });
        }
        Err(why) => return Err(refused(&engine::reason(&why))),
    };
    if found.is_dir() {
        return Err(refused("it is a folder"));
    }
    if accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_err() {
        return Err(refused("this user has no permission to execute it (chmod +x gives it)"));
    }
    let mut first = [0; 4];
    // A file that may be executed but not read is left to the kernel.
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut first));
    match read {
        Ok(count) if !is_program(&first[..count]) => Err(refused(
            "it is neither an ELF program nor a script that begins with #!; run it by its interpreter, as in: sh FILE",
        )),
        _ => Ok(()),
    }
}

fn is_program(first: &[u8]) -> bool {
    first.starts_with(b"#!") || first.starts_with(b"\x7fELF")
}

fn read(path: &Path) -> Option<Executable> {
    anatomy::read_executable(&fs::read(path).ok()?).ok()
}

/// The loader named by an ELF program; `None` for a static one, and anything else.
fn loader(path: &Path) -> Option<String> {
    match read(path)? {
        Executable::Elf(binary) => binary.interpreter,
        Executable::Script(_) => None,
    }
}

/// Quoted where a shell requires it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "%+,-./:=@_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn file(folder: &Path, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, content).expect("the folder is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("the file is ours");
        path
    }

    #[test]
    fn the_first_that_can_be_executed_is_taken() {
        let (one, two) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        file(one.path(), "tool", "#!/bin/sh\n", 0o644);
        fs::create_dir(one.path().join("other")).expect("the folder is ours");
        let tool = file(two.path(), "tool", "#!/bin/sh\n", 0o755);
        let other = file(two.path(), "other", "#!/bin/sh\n", 0o755);
        let search = std::env::join_paths([one.path(), two.path()]).expect("no colon in them");
        for (name, expected) in [("tool", tool), ("other", other)] {
            let found = ProgramCommand::find(&words(&[name, "a b"]), Some(&search)).expect("it is there");
            assert_eq!(found.path, expected);
            assert_eq!(found.shell_text(), format!("{name} 'a b'"));
        }
    }

    #[test]
    fn the_loader_is_read_from_the_file() {
        let shell = loader(Path::new("/bin/sh")).expect("the shell of this machine is dynamic");
        assert!(shell.starts_with("/lib"), "{shell}");
        let folder = tempfile::tempdir().expect("a folder");
        let script = file(folder.path(), "script", "#! /bin/sh -e\n", 0o755);
        assert_eq!(loader(&script), None);
        let found = ProgramCommand::find(&[script.into_os_string()], None).expect("it is one");
        assert_eq!(found.uses_glibc_loader(), shell.contains("/ld-linux"));
        let cut = file(folder.path(), "cut", "\x7fELF\u{2}\u{1}", 0o755);
        assert_eq!(loader(&cut), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        file(folder.path(), "deaf", "#!/bin/sh\n", 0o644);
        file(folder.path(), "text", "true\n", 0o755);
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        let search = folder.path().as_os_str();
        let cases: [(&str, &[&str]); 7] = [
            ("nowhere-at-all", &["nowhere-at-all", "PATH", &folder.path().to_string_lossy()]),
            (&path("missing"), &["missing", "there is no such file"]),
            ("deaf", &["deaf", "permission"]),
            (&path("deaf"), &["deaf", "permission"]),
            ("text", &["text", "ELF", "#!"]),
            ("/", &["folder"]),
            ("", &["no command"]),
        ];
        for (name, expected) in cases {
            let error = ProgramCommand::find(&words(&[name]), Some(search))
                .expect_err("it cannot be executed")
                .to_string();
            for word in expected {
                assert!(error.contains(word), "{name}: {error}");
            }
        }
        assert!(ProgramCommand::find(&[], None).is_err());
        assert!(ProgramCommand::find(&words(&["true"]), None).is_ok(), "the usual folders have it");
    }
}
