//! A journal of what must be undone at the end, written before it is done: the surviving process undoes it, be it the
//! guard itself, the process behind it, or the next torment.

use crate::group;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The journal's file, in the guard's own folder.
const JOURNAL: &str = "undo";

/// One thing to undo.
#[derive(Debug, Serialize, Deserialize)]
enum UndoStep {
    /// A folder was made: remove it with all its content.
    Folder(PathBuf),
    /// A control group was made: remove it with all its content.
    Group(PathBuf),
    /// A folder was made for a file: remove it if it is empty otherwise.
    Parent(PathBuf),
    /// A file was written where there was none.
    New(PathBuf),
    /// A file was overwritten after being copied.
    Over { path: PathBuf, copy: PathBuf, modified: Option<SystemTime> },
}

#[derive(Debug)]
pub struct UndoJournal {
    folder: PathBuf,
    lines: usize,
}

impl UndoJournal {
    /// In the guard's own folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), lines: 0 }
    }

    fn add(&mut self, undo: &UndoStep) -> io::Result<()> {
        let mut line = serde_json::to_vec(undo)?;
        line.push(b'\n');
        let mut file = fs::OpenOptions::new().append(true).create(true).open(self.folder.join(JOURNAL))?;
        self.lines += 1;
        file.write_all(&line)
    }

    /// Records a folder that is about to be made.
    pub fn note_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.add(&UndoStep::Folder(folder.to_owned()))
    }

    /// Records a control group that is about to be made.
    pub fn note_group(&mut self, group: &Path) -> io::Result<()> {
        self.add(&UndoStep::Group(group.to_owned()))
    }

    /// Writes a file, and the folders it needs.
    pub fn write_file(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut parents: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|p| !p.as_os_str().as_bytes().is_empty() && !p.exists())
            .collect();
        while let Some(parent) = parents.pop() {
            self.add(&UndoStep::Parent(parent.to_owned()))?;
            fs::create_dir(parent)?;
        }
        match fs::metadata(path) {
            Ok(metadata) => {
                let copy = self.folder.join(format!("saved-{}", self.lines));
                fs::copy(path, &copy)?;
                self.add(&UndoStep::Over {
                    path: path.to_owned(),
                    copy,
                    modified: metadata.modified().ok(),
                })?;
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => self.add(&UndoStep::New(path.to_owned()))?,
            Err(e) => return Err(e),
        }
        fs::write(path, content)
    }

    /// Undoes everything, in reverse order. Failures are skipped.
    pub fn undo(&mut self) {
        undo(&self.folder);
        self.lines = 0;
    }
}

/// Undoes what the journal in this folder says; idempotent.
pub fn undo(folder: &Path) {
    let journal = folder.join(JOURNAL);
    let text = fs::read_to_string(&journal).unwrap_or_default();
    // A truncated line describes something not done yet.
    for line in text.lines().rev().filter_map(|line| serde_json::from_str(line).ok()) {
        // Whatever fails is already gone, or cannot be helped.
        let _ = match line {
            // The kernel removes a trace instance only by rmdir, although it has files.
            UndoStep::Folder(folder) => fs::remove_dir(&folder).or_else(|_| fs::remove_dir_all(folder)),
            UndoStep::Group(path) => group::remove(&path),
            UndoStep::Parent(folder) => fs::remove_dir(folder),
            UndoStep::New(path) => fs::remove_file(path),
            UndoStep::Over { path, copy, modified } => restore_file(&path, &copy, modified),
        };
    }
    let _ = fs::remove_file(journal);
}

/// Into the existing file, so that it keeps its owner and its links.
fn restore_file(path: &Path, copy: &Path, modified: Option<SystemTime>) -> io::Result<()> {
    let content = fs::read(copy)?;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(&content)?;
    // Builds look at modification times: the file has not changed.
    if let Some(modified) = modified {
        file.set_modified(modified)?;
    }
    fs::remove_file(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_as_they_were() {
        let temporary = tempfile::tempdir().expect("the temporary folder is writable");
        let own = temporary.path().join("own");
        fs::create_dir(&own).expect("ours");
        let at = |name: &str| temporary.path().join(name);
        fs::write(at("there"), "before").expect("ours");
        let before = fs::metadata(at("there")).expect("ours").modified().expect("every Linux has it");
        let mut journal = UndoJournal::new(&own);
        journal.write_file(&at("there"), b"during").expect("ours");
        journal.write_file(&at("there"), b"again").expect("ours");
        journal.write_file(&at("a/b/new"), b"new").expect("ours");
        journal.note_folder(&at("data")).expect("ours");
        fs::create_dir_all(at("data/base")).expect("ours");
        assert_eq!(fs::read(at("there")).expect("ours"), b"again");
        assert_eq!(fs::read(at("a/b/new")).expect("ours"), b"new");
        // As if the end of the last line had not reached the disk.
        let mut text = fs::OpenOptions::new().append(true).open(own.join(JOURNAL)).expect("ours");
        text.write_all(b"{\"Folder\":\"/").expect("ours");
        journal.undo();
        undo(&own);
        assert_eq!(fs::read(at("there")).expect("ours"), b"before");
        assert_eq!(fs::metadata(at("there")).expect("ours").modified().expect("every Linux has it"), before);
        let left: Vec<_> =
            fs::read_dir(temporary.path()).expect("ours").flatten().map(|e| e.file_name()).collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert_eq!(fs::read_dir(&own).expect("ours").count(), 0);
    }
}
