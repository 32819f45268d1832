//! Reading files, and why they could not be read.

use std::fs::read_to_string;
use std::io::ErrorKind;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// The file and the reason, in words.
    pub why: String,
    /// It does not exist.
    pub absent: bool,
}

/// So that `?` accepts a borrowed error.
impl From<&Self> for ReadError {
    fn from(unread: &Self) -> Self {
        unread.clone()
    }
}

pub(crate) type FileRead<T> = Result<T, ReadError>;

/// Where files are: below a root, for one process.
pub(crate) struct FileTree<'a> {
    root: &'a Path,
    pid: u32,
}

impl<'a> FileTree<'a> {
    pub fn new(root: &'a Path, pid: u32) -> Self {
        Self { root, pid }
    }

    /// A file's content, trimmed.
    pub fn text(&self, name: &str) -> FileRead<String> {
        let read = read_to_string(self.root.join(name)).map(|text| text.trim().to_owned());
        read.map_err(|why| match why.kind() {
            ErrorKind::NotFound => ReadError { why: format!("/{name} is not there"), absent: true },
            _ => ReadError { why: format!("/{name} cannot be read: {why}"), absent: false },
        })
    }

    /// A file's parsed content.
    pub fn parsed<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> FileRead<T> {
        let text = self.text(name)?;
        let wrong = || ReadError { why: format!("/{name} is in no known format"), absent: false };
        parse(&text).ok_or_else(wrong)
    }

    pub fn number(&self, name: &str) -> FileRead<u64> {
        self.parsed(name, |text| procfs::parse_number(text.as_bytes()))
    }

    /// As [`Self::parsed`], for a file in the process's own folder.
    pub fn process_file<T>(&self, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> FileRead<T> {
        self.parsed(&format!("proc/{}/{name}", self.pid), parse)
    }

    /// The sorted names in a folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// For what need not exist, such as the files of a module.
pub(crate) fn optional<T>(read: FileRead<T>) -> FileRead<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(why) if why.absent => Ok(None),
        Err(why) => Err(why),
    }
}
