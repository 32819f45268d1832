//! Every parser of untrusted input: files, servers, observed programs.
//!
//! Each of [`READERS`] takes any bytes and panics only if a promise is broken. The fuzzers in `fuzz/` look
//! for such bytes, and the test of this crate replays those kept in `fuzz/corpus`. Nothing else uses it.

mod fleet_messages;
mod import_source;
mod join_file;
mod plan_file;

/// A parser under test; takes any bytes.
pub type FuzzReader = fn(&[u8]);

/// The readers by name, which is also the name of the fuzzer and its folder in `fuzz/corpus`.
pub const READERS: [(&str, FuzzReader); 12] = [
    ("http1", engine::fuzzing::http1),
    ("http2", engine::fuzzing::http2),
    ("sql", engine::fuzzing::sql),
    ("metrics", observe::fuzzing::metrics),
    ("perfdata", observe::fuzzing::perfdata),
    ("dump", observe::fuzzing::dump),
    ("kernel", observe::fuzzing::kernel),
    ("profile", profile::fuzzing::profile),
    ("plan", plan_file::plan),
    ("import", import_source::import),
    ("join", join_file::join),
    ("fleet_messages", fleet_messages::fleet_messages),
];

/// The reader of this name, for the fuzzers.
///
/// # Panics
/// If there is none.
pub fn reader(name: &str) -> FuzzReader {
    let found = READERS.into_iter().find(|(of, _)| *of == name);
    found.unwrap_or_else(|| panic!("there is no reader '{name}'")).1
}
