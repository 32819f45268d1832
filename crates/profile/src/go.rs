//! Functions of a Go program from the table that it carries for its own stack traces, which stripping
//! leaves in place.
//!
//! The format of Go 1.18 and later (`runtime/symtab.go`): a header, and at offsets it gives, a row for each
//! function.

use crate::symbols::Symbols;

/// The table's magic numbers: Go 1.20 and later, and 1.18.
const MAGIC: [u32; 2] = [0xffff_fff1, 0xffff_fff0];
/// Maximum functions per program.
const MOST: usize = 1_000_000;
/// Size of a header field.
const WORD: usize = 8;
/// Offsets in the header: number of functions, start address of the code, offsets of names and rows.
const FUNCTIONS: usize = 8;
const CODE: usize = 3 * WORD;
const NAMES: usize = 4 * WORD;
const ROWS: usize = 8 * WORD;
/// Size of a row: offset of the function in the code and of its details, 32 bits each.
const ROW: usize = 8;

/// Adds all functions of a `.gopclntab`; `text` is the start of the code if the table does not give it.
/// False for an unknown version.
pub fn add_symbols(symbols: &mut Symbols, table: &[u8], text: u64) -> bool {
    parse_table(symbols, table, text).is_some()
}

fn parse_table(symbols: &mut Symbols, table: &[u8], text: u64) -> Option<()> {
    let is_known = MAGIC.contains(&half(table, 0)?) && *table.get(7)? == WORD as u8;
    let code = Some(word(table, CODE)?).filter(|code| *code > 0).unwrap_or(text);
    let names = table.get(read_offset(table, NAMES)?..).filter(|_| is_known)?;
    let rows = table.get(read_offset(table, ROWS)?..)?;
    // The last row only marks the end of the code.
    let count = read_offset(table, FUNCTIONS)?.min(MOST).min((rows.len() / ROW).saturating_sub(1));
    for row in 0..count {
        let (from, about, to) =
            (half(rows, row * ROW)?, half(rows, row * ROW + 4)?, half(rows, (row + 1) * ROW)?);
        let name = half(rows, about as usize + 4).and_then(|at| names.get(at as usize..));
        let name = name.and_then(|rest| rest.split(|byte| *byte == 0).next()).unwrap_or_default();
        symbols.add(code.wrapping_add(from.into()), to.saturating_sub(from).into(), name);
    }
    Some(())
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(WORD)?)?.try_into().ok()?))
}

fn read_offset(bytes: &[u8], at: usize) -> Option<usize> {
    word(bytes, at)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use crate::elf::{Elf, is_go};
    use std::path::Path;
    use std::process::Command;

    /// A Go program built with these flags; none without Go.
    fn built(folder: &Path, words: &[&str]) -> Option<Vec<u8>> {
        std::fs::write(folder.join("go.mod"), "module m\ngo 1.19\n").expect("ours");
        std::fs::write(folder.join("main.go"), "package main\n\nfunc main() { println(len(os())) }\n\n//go:noinline\nfunc os() string { return \"linux\" }\n").expect("ours");
        let built =
            Command::new("go").arg("build").args(words).args(["-o", "program"]).current_dir(folder).output();
        let built = built.ok()?;
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        Some(std::fs::read(folder.join("program")).expect("it was built"))
    }

    #[test]
    fn a_stripped_program_has_the_names_that_it_had() {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        for mode in ["-buildmode=exe", "-buildmode=pie"] {
            let Some(whole) = built(folder.path(), &[mode]) else {
                return eprintln!("SKIPPED: there is no go here");
            };
            let stripped = built(folder.path(), &[mode, "-ldflags=-s -w"]).expect("there is go");
            let read = |bytes: &[u8]| Elf::read(bytes).expect("it is a program");
            assert!(is_go(&folder.path().join("program")), "{mode}");
            let (whole, named) = (read(&whole), read(&stripped));
            assert!(named.has_all_functions, "{mode}");
            let sized = whole.symbols.beginning_with(b"").filter(|(_, size, _)| *size > 0);
            let [same, other] = sized.fold([0, 0], |[same, other], (at, size, name)| {
                // Only the other table has the ABI suffix.
                let name = name.strip_suffix(b".abi0").unwrap_or(name);
                match named.symbols.find(at + size / 2) == Some((at, name)) {
                    true => [same + 1, other],
                    false => [same, other + 1],
                }
            });
            assert!(same > 1000 && other * 100 < same, "{mode}: {same} and not {other}");
            for length in (0..stripped.len()).step_by(40_007) {
                let _ = Elf::read(&stripped[..length]);
            }
        }
    }

    #[test]
    fn others_are_no_programs_of_go() {
        assert!(!is_go(Path::new("/proc/self/exe")) && !is_go(Path::new("/proc/self/maps")));
        assert!(!is_go(Path::new("/proc/nowhere")));
    }

    #[test]
    fn what_is_no_table_names_nothing() {
        let mut table = vec![0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8];
        table.extend_from_slice(&[0xff; 64]);
        for length in 0..=table.len() {
            let mut symbols = crate::symbols::Symbols::default();
            super::add_symbols(&mut symbols, &table[..length], 0);
            assert!(symbols.is_empty(), "{length}");
        }
    }
}
