//! Every reader of what others say: files, servers, programs that are watched.
//!
//! Each of [`READERS`] takes any bytes and panics only if a promise is broken. The fuzzers in `fuzz/` look
//! for such bytes, and the test of this crate feeds the ones kept in `fuzz/corpus`. Nothing else uses it.

mod imported;
mod joined;
mod planned;
mod told;

/// Feeds bytes to a reader.
pub type Reader = fn(&[u8]);

/// The readers by name, which is that of the fuzzer and of its folder in `fuzz/corpus`.
pub const READERS: [(&str, Reader); 12] = [
    ("http1", engine::fuzzing::http1),
    ("http2", engine::fuzzing::http2),
    ("sql", engine::fuzzing::sql),
    ("metrics", observe::fuzzing::metrics),
    ("perfdata", observe::fuzzing::perfdata),
    ("dump", observe::fuzzing::dump),
    ("kernel", observe::fuzzing::kernel),
    ("profile", profile::fuzzing::profile),
    ("plan", planned::plan),
    ("import", imported::import),
    ("join", joined::join),
    ("told", told::told),
];

/// The reader of this name, for the fuzzers.
///
/// # Panics
/// If there is none.
pub fn reader(name: &str) -> Reader {
    let found = READERS.into_iter().find(|(of, _)| *of == name);
    found.unwrap_or_else(|| panic!("there is no reader '{name}'")).1
}
