use rustix::process::Pid;
use std::path::PathBuf;

/// A position in a file mapped by a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMapping {
    /// The path as the kernel reports it.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
    /// The file was removed or replaced since it was mapped.
    pub deleted: bool,
}

impl FileMapping {
    /// The file at this address of a process; none if no file is mapped there, or it is unreadable.
    pub fn of(pid: Pid, address: u64) -> Option<Self> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_nonzero())).ok()?;
        maps.lines().find_map(|line| parse(line, address))
    }
}

/// Parses a line of /proc/PID/maps (proc_pid_maps(5)), if it contains the address.
fn parse(line: &str, address: u64) -> Option<FileMapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let start = hexadecimal(start)?;
    if !(start..hexadecimal(end)?).contains(&address) {
        return None;
    }
    // Permissions, offset, device and inode; then the path, which may have spaces.
    let offset = hexadecimal(rest.split_ascii_whitespace().nth(1)?)?;
    let path = rest.get(rest.find('/')?..)?;
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    Some(FileMapping { path: path.into(), offset: offset + (address - start), deleted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps() {
        let line =
            "7f10a0028000-7f10a017d000 r-xp 00026000 fe:00 1050 /usr/lib/my folder/libc.so.6 (deleted)";
        let found = parse(line, 0x7f10_a002_8010).expect("it lies within");
        assert_eq!(found.offset, 0x26010);
        assert_eq!((found.path.to_str(), found.deleted), (Some("/usr/lib/my folder/libc.so.6"), true));
        assert_eq!(parse(line, 0x7f10_a017_d000), None);
        assert_eq!(parse("7ffc0000-7ffd0000 rw-p 00000000 00:00 0 [stack]", 0x7ffc_0000), None);
        assert_eq!(parse("nonsense", 0), None);
    }

    #[test]
    fn our_own_code() {
        let mapping = FileMapping::of(rustix::process::getpid(), lines_of_maps as *const () as usize as u64);
        let own = std::env::current_exe().expect("it runs");
        assert_eq!(mapping.expect("code is mapped from a file").path, own);
    }
}
