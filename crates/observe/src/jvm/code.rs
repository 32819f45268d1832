//! What a machine has compiled, and where that is: its own list (the command `Compiler.codelist`, JDK 9 and later). With it an address
//! in code without a file has a name, exactly, where the Flight Recorder guesses; what was compiled into another method
//! counts as that one. A map for `perf` would say the same, but in a file that somebody has to remove.

use super::attach::attach;
use std::time::{Duration, Instant};

/// Until it has answered: for 10,000 methods it takes some tens of milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A compiled method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodCode {
    /// Where its code begins.
    pub from: u64,
    /// The first address behind it.
    pub to: u64,
    /// `java.util.HashMap.getNode`.
    pub method: String,
    /// By which compiler: 1 to 3 are C1's, 4 is C2's; 0 is what leads to native code.
    pub level: u8,
}

/// Asks the machine in this process what it has compiled. Sorted by address; methods that are not in use any more, but may still run, are among them.
/// The list holds for now: code is made anew, dropped, and its place used again.
///
/// # Errors
/// If the machine cannot be asked or does not answer: why, as a sentence that goes on from its name.
pub fn compiled_code(pid: u32) -> Result<Vec<MethodCode>, String> {
    let until = Instant::now() + PATIENCE;
    let list = parse(&attach(pid, until)?.ask("jcmd", "Compiler.codelist", until)?);
    if list.is_empty() { Err("it does not list what it has compiled".to_owned()) } else { Ok(list) }
}

/// Reads such a list. Lines that mean nothing to us are passed over.
pub(crate) fn parse(text: &str) -> Vec<MethodCode> {
    let mut list: Vec<MethodCode> = text.lines().filter_map(line).collect();
    list.sort_by_key(|code| code.from);
    list
}

/// `23 3 0 java.lang.Object.<init>()V [0x00007f8a5c5d7710, 0x00007f8a5c5d78a0 - 0x00007f8a5c5d7978]`: number, level, state, method,
/// and where its head, its code and the end are.
fn line(line: &str) -> Option<MethodCode> {
    let (head, addresses) = line.trim_end().strip_suffix(']')?.split_once(" [")?;
    let mut words = head.split_whitespace();
    let (_number, level, _state) = (words.next()?, words.next()?, words.next()?);
    let (method, _arguments) = words.next()?.split_once('(')?;
    let (_, code) = addresses.split_once(", ")?;
    let address = |text: &str| u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    let (from, to) = code.split_once(" - ")?;
    let (from, to) = (address(from)?, address(to)?);
    let method = super::frames::without_address(method);
    (from < to).then_some(MethodCode { from, to, method, level: level.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_list_is_read_in_order_of_addresses() {
        let text = "612 4 0 app.A$$Lambda$85/0x00007faad40a2eb0.run(J)V [0x20, 0x30 - 0x48]\n\
                    23 3 1 java.lang.Object.<init>()V [0x0000000000000010, 0x0000000000000011 - 0x000000000000001f]\n\
                    24 3 1 backwards()V [0x10, 0x20 - 0x20]\n\
                    9 x\n";
        let code = |from, to, method: &str, level| MethodCode { from, to, method: method.to_owned(), level };
        let expected =
            [code(0x11, 0x1f, "java.lang.Object.<init>", 3), code(0x30, 0x48, "app.A$$Lambda.run", 4)];
        assert_eq!(parse(text), expected);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(0x[0-9a-f]{0,17}| - |, | \\[|\\]|\\(|[0-9]{1,3} |\n|.){0,40}") {
            let _ = parse(&text);
        }
    }
}
