//! A file of real bytes, and a folder with room for it.

use crate::Error;
use crate::block_file::drop_page_cache;
use crate::xorshift::Xorshift;
use rustix::fs::{statfs, statvfs};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use units::Bytes;

/// Bytes per write.
const STEP: usize = 1 << 20;
/// Bytes written before a flush: no more than the kernel would buffer anyway.
const FLUSH: u64 = 64 << 20;
/// Left to others.
const SPARE: u64 = 1 << 30;
/// File systems in memory (statfs(2)): nothing there is ever fetched.
const MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58F6];

/// Space in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSpace {
    /// The folder.
    pub folder: PathBuf,
    /// Bytes that this user may still write there.
    pub free: Bytes,
    /// Whether it is in memory.
    pub in_memory: bool,
}

impl FolderSpace {
    /// Of this folder; none if unknown.
    pub fn of(folder: &Path) -> Option<Self> {
        let (kind, room) = (statfs(folder).ok()?, statvfs(folder).ok()?);
        let in_memory = MEMORY.contains(&u64::from(kind.f_type as u32));
        Some(Self {
            folder: folder.to_owned(),
            free: Bytes(room.f_bavail.saturating_mul(room.f_frsize)),
            in_memory,
        })
    }

    fn has_room(&self, size: Bytes) -> bool {
        !self.in_memory && self.free.0 >= size.0.saturating_add(SPARE)
    }

    fn describe(&self) -> String {
        let folder = self.folder.display();
        if self.in_memory {
            format!("{folder} is memory")
        } else {
            format!("{folder} has {} free", self.free)
        }
    }
}

/// A folder on a disk with room for this and 1 GiB to spare: the first of the temporary folders and the current one.
///
/// # Errors
/// If there is none: lists the folders tried.
pub fn find_folder(size: Bytes) -> Result<PathBuf, Error> {
    let here = std::env::current_dir().ok();
    let all = [Some(std::env::temp_dir()), Some(PathBuf::from("/var/tmp")), here];
    let disks: Vec<FolderSpace> =
        all.into_iter().flatten().filter_map(|folder| FolderSpace::of(&folder)).collect();
    let found = disks.iter().find(|disk| disk.has_room(size));
    found.map(|disk| disk.folder.clone()).ok_or_else(|| {
        let words: Vec<String> = disks.iter().map(FolderSpace::describe).collect();
        Error::NoSpace(size, words.join(", "))
    })
}

/// Writes a file of this size, of incompressible bytes, to the disk and not into the page cache.
///
/// # Errors
/// If it cannot be written, or `stop` returns true. What was written is left.
pub fn write_random_file(path: &Path, size: Bytes, seed: u64, stop: &dyn Fn() -> bool) -> Result<(), Error> {
    let failed =
        |why: std::io::Error| Error::Read(path.display().to_string(), format!("it cannot be written: {why}"));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(failed)?;
    let (mut rng, mut chunk, mut written, mut flushed) = (Xorshift::new(seed), vec![0; STEP], 0, 0);
    while written < size.0 {
        if stop() {
            return Err(Error::Interrupted);
        }
        chunk.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&rng.next().to_ne_bytes()));
        let length = STEP.min((size.0 - written) as usize);
        file.write_all(&chunk[..length]).map_err(failed)?;
        written += length as u64;
        if written - flushed >= FLUSH || written == size.0 {
            // What one control group has cached would be a hit for another.
            file.sync_data().and_then(|()| drop_page_cache(&file)).map_err(failed)?;
            flushed = written;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_there_in_full() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("blocks");
        write_random_file(&path, Bytes(3_000_000), 1, &|| false).expect("there is room");
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(&path).expect("it was made");
        assert_eq!(found.len(), 3_000_000);
        let is_memory = FolderSpace::of(folder.path()).expect("it is there").in_memory;
        assert!(is_memory || found.blocks() * 512 >= 3_000_000, "it has holes: {} blocks", found.blocks());
        assert!(matches!(write_random_file(&path, Bytes(1 << 30), 1, &|| true), Err(Error::Interrupted)));
    }

    #[test]
    fn room_is_looked_for() {
        let why = find_folder(Bytes(1 << 60)).expect_err("nobody has so much").to_string();
        assert!(why.contains("free") && why.contains("--limit"), "{why}");
        if Path::new("/dev/shm").is_dir() {
            assert!(FolderSpace::of(Path::new("/dev/shm")).is_some_and(|disk| disk.in_memory));
        }
        assert_eq!(FolderSpace::of(Path::new("/no/such/folder")), None);
    }
}
