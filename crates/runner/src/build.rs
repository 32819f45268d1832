//! Identifies this program.

use fleet::BuildStamp;
use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// The same for all of a fleet.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Search limit: program headers and linkers' notes come before this.
const SEARCHED_BYTES: u64 = 64 << 10;

/// Distinguishes it from other builds of its version.
pub(crate) fn build_stamp() -> &'static BuildStamp {
    static STAMP: OnceLock<BuildStamp> = OnceLock::new();
    STAMP.get_or_init(|| BuildStamp {
        arch: std::env::consts::ARCH.to_owned(),
        digest: digest().unwrap_or_default(),
    })
}

/// Version and build of this program, by which another process tells whether it is the same.
pub fn version_and_build() -> String {
    let BuildStamp { arch, digest } = build_stamp();
    format!("torment {VERSION} {arch} {digest}")
}

/// Build ID in hexadecimal; `None` if the file is unreadable or its linker wrote none.
fn digest() -> Option<String> {
    let mut head = Vec::new();
    File::open("/proc/self/exe").ok()?.take(SEARCHED_BYTES).read_to_end(&mut head).ok()?;
    let anatomy::Executable::Elf(binary) = anatomy::read_executable(&head).ok()? else { return None };
    Some(binary.build_id?.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_has_stamped_this_program() {
        let BuildStamp { arch, digest } = build_stamp();
        assert_eq!(arch, std::env::consts::ARCH);
        assert!(digest.len() >= 16 && digest.bytes().all(|digit| digit.is_ascii_hexdigit()), "{digest:?}");
        assert_eq!(version_and_build(), format!("torment {VERSION} {arch} {digest}"));
    }
}
