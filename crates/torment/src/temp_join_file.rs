//! The join files of workers and watchers, which exist as long as the run.

use crate::{CommandError, usage_error};
use anyhow::{Context, anyhow};
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// File names for workers and watchers, shown to the user.
pub const WORKERS: &str = "run.join";
pub const WATCHERS: &str = "watch.join";
/// Only its owner reads it.
const FILE_MODE: u32 = 0o600;

/// Removed on drop.
pub struct TempJoinFile {
    name: &'static str,
    /// Locked, so that no other run replaces it.
    _file: File,
}

impl TempJoinFile {
    /// Writes it to the current folder, replacing only a file left by an earlier run.
    pub fn write(name: &'static str, text: &str) -> Result<Self, CommandError> {
        let cannot = || format!("cannot write {name} here");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(name)
            .with_context(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(usage_error(anyhow!(
                    "{name} is of a run that goes on: start this one in another folder"
                )));
            }
            Err(TryLockError::Error(why)) => return Err(CommandError::from(why)),
        }
        let (mut before, first) = (Vec::new(), text.lines().next().unwrap_or_default());
        file.read_to_end(&mut before).with_context(cannot)?;
        if !before.is_empty() && !before.starts_with(first.as_bytes()) {
            return Err(usage_error(anyhow!(
                "{name} is another file than torment's: start this run in another folder"
            )));
        }
        file.set_permissions(Permissions::from_mode(FILE_MODE)).with_context(cannot)?;
        file.set_len(0).with_context(cannot)?;
        std::io::Seek::rewind(&mut file).with_context(cannot)?;
        file.write_all(text.as_bytes()).with_context(cannot)?;
        Ok(Self { name, _file: file })
    }
}

impl Drop for TempJoinFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(Path::new(self.name));
    }
}
