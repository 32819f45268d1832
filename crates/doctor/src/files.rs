//! Files that are read, and why they could not be.

use std::fs::read_to_string;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// It and why, in words.
    pub why: String,
    /// It is not there.
    pub absent: bool,
}

/// So that `?` takes what is only borrowed.
impl From<&Self> for ReadError {
    fn from(unread: &Self) -> Self {
        unread.clone()
    }
}

pub(crate) type FileRead<T> = Result<T, ReadError>;

/// Where files are: below a root, of a process.
pub(crate) struct FileTree<'a> {
    root: &'a Path,
    pid: u32,
}

impl<'a> FileTree<'a> {
    pub fn new(root: &'a Path, pid: u32) -> Self {
        Self { root, pid }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A file, without blanks around it.
    pub fn text(&self, name: &str) -> FileRead<String> {
        let read = read_to_string(self.path(name)).map(|text| text.trim().to_owned());
        read.map_err(|why| match why.kind() {
            ErrorKind::NotFound => ReadError { why: format!("/{name} is not there"), absent: true },
            _ => ReadError { why: format!("/{name} cannot be read: {why}"), absent: false },
        })
    }

    /// What a file says.
    pub fn parsed<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> FileRead<T> {
        let text = self.text(name)?;
        let wrong = || ReadError { why: format!("/{name} is in no known format"), absent: false };
        parse(&text).ok_or_else(wrong)
    }

    /// A file that is a number.
    pub fn number(&self, name: &str) -> FileRead<u64> {
        self.parsed(name, |text| procfs::parse_number(text.as_bytes()))
    }

    /// The same of the process's own file.
    pub fn own<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> FileRead<T> {
        self.parsed(&format!("proc/{}/{name}", self.pid), parse)
    }

    /// What a folder holds, by name.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// What need not be there, such as the files of a module.
pub(crate) fn optional<T>(seen: FileRead<T>) -> FileRead<Option<T>> {
    match seen {
        Ok(found) => Ok(Some(found)),
        Err(why) if why.absent => Ok(None),
        Err(why) => Err(why),
    }
}
