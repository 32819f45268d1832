//! Symbol lists in text form: the kernel's, and JIT compilers' perf maps.

use crate::symbols::Symbols;

/// Maximum functions per list.
const MOST: usize = 4_000_000;

/// Parses /proc/kallsyms: `ffffffff81000000 T startup_64`, those of modules followed by `[name]`. None if
/// the kernel hides addresses.
pub fn parse_kallsyms(text: &[u8]) -> Symbols {
    let mut symbols = Symbols::default();
    for line in text.split(|byte| *byte == b'\n').take(MOST) {
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let Some(address) = words.next().and_then(hexadecimal).filter(|address| *address > 0) else {
            continue;
        };
        if let (Some(b"t" | b"T" | b"w" | b"W"), Some(name)) = (words.next(), words.next()) {
            symbols.add(address, 0, name);
        }
    }
    symbols.sort();
    symbols
}

/// Parses a perf map: `START SIZE name`, in hexadecimal. Later entries for the same address are further
/// below.
pub fn parse_perf_map(text: &[u8]) -> Symbols {
    let mut symbols = Symbols::default();
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').take(MOST).collect();
    for line in lines.into_iter().rev() {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let numbers = (words.next().and_then(hexadecimal), words.next().and_then(hexadecimal));
        if let ((Some(start), Some(size)), Some(name)) = (numbers, words.next()) {
            symbols.add(start, size, name.trim_ascii());
        }
    }
    symbols.sort();
    symbols
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(symbols: &Symbols, address: u64) -> Option<&str> {
        symbols.find(address).map(|(_, name)| std::str::from_utf8(name).expect("it is ours"))
    }

    #[test]
    fn the_kernel_and_its_modules() {
        let symbols = parse_kallsyms(
            b"ffffffff81000000 T startup_64\nffffffff81000100 D data\nffffffff81000200 t do_idle\n\
              ffffffffc0000000 t nf_hook\t[nf_tables]\nnonsense\n\n",
        );
        assert_eq!(named(&symbols, 0xffff_ffff_8100_0150), Some("startup_64"));
        assert_eq!(named(&symbols, 0xffff_ffff_8100_0200), Some("do_idle"));
        assert_eq!(named(&symbols, 0xffff_ffff_c000_0010), Some("nf_hook"));
        assert!(parse_kallsyms(b"0000000000000000 T startup_64\n").is_empty());
    }

    #[test]
    fn what_was_made_last_counts() {
        let symbols = parse_perf_map(
            b"7f00 10 LazyCompile:*old file.js:1\n7f20 0x10 py::work:/a b.py\n7f00 8 LazyCompile:~new file.js:2\n7f 1\nx y z\n",
        );
        assert_eq!(named(&symbols, 0x7f07), Some("LazyCompile:~new file.js:2"));
        assert_eq!(named(&symbols, 0x7f08), None);
        assert_eq!(named(&symbols, 0x7f2f), Some("py::work:/a b.py"));
        assert!(parse_perf_map(b"").is_empty());
    }
}
