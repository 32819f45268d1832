//! Descriptor counts.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Number of open descriptors, from the size of an `fd` folder in /proc; none before Linux 6.2, where they
/// must be counted.
pub(crate) fn open_count(folder: &str) -> io::Result<Option<u64>> {
    Ok(Some(fs::metadata(folder)?.size()).filter(|size| *size > 0))
}

/// The same, counted one by one.
pub(super) fn count(folder: &str) -> io::Result<u64> {
    Ok(fs::read_dir(folder)?.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_descriptors_both_ways() {
        // In a separate process: other tests open and close descriptors meanwhile.
        let mut child = std::process::Command::new("sleep").arg("20").spawn().expect("there is sleep");
        let folder = format!("/proc/{}/fd", child.id());
        let counted = count(&folder).expect("it is ours");
        assert!(counted >= 3, "{counted}");
        if let Some(size) = open_count(&folder).expect("it is ours") {
            assert!(size >= 3, "{size}");
        }
        child.kill().expect("it runs");
        child.wait().expect("it was started here");
    }
}
