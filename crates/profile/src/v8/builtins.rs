//! V8's builtins: precompiled code in the program's file.

use crate::symbols::Symbols;
use std::ops::Range;

/// Prefix of the builtins' symbols; then the prefixes and suffixes of those that run interpreted or
/// baseline-compiled JavaScript; baseline code leaves every operation to them.
const BUILTIN: &[u8] = b"Builtins_";
const INTERPRETER: [&[u8]; 2] = [b"Builtins_Interpreter", b"Builtins_Baseline"];
const OPERATION: [&[u8]; 3] = [b"Handler", b"_Baseline", b"_Baseline_Compact"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum V8Code {
    /// Generated at run time: JavaScript, WebAssembly or a regular expression.
    Generated,
    /// A builtin that runs interpreted or baseline-compiled JavaScript.
    Interpreter,
    /// Any other builtin.
    Builtin,
}

/// The addresses of a program's builtins, as its file states them.
#[derive(Debug, Clone, Default)]
pub struct Builtins {
    range: Range<u64>,
    /// Sorted.
    interpreter: Vec<Range<u64>>,
}

impl Builtins {
    pub fn of(symbols: &Symbols) -> Self {
        let mut builtins = Self::default();
        for (at, size, name) in symbols.beginning_with(BUILTIN) {
            let Some(end) = at.checked_add(size) else { continue };
            let start = if builtins.range.is_empty() { at } else { builtins.range.start };
            builtins.range = start..builtins.range.end.max(end);
            let is_operation = OPERATION.iter().any(|end| name.ends_with(end));
            if is_operation || INTERPRETER.iter().any(|start| name.starts_with(start)) {
                builtins.interpreter.push(at..end);
            }
        }
        builtins
    }

    /// The kind of code at an address.
    pub fn code(&self, address: u64) -> Option<V8Code> {
        if !self.range.contains(&address) {
            return None;
        }
        let after = self.interpreter.partition_point(|place| place.start <= address);
        let before = after.checked_sub(1).map(|before| &self.interpreter[before]);
        let is_interpreter = before.is_some_and(|place| place.contains(&address));
        Some(if is_interpreter { V8Code::Interpreter } else { V8Code::Builtin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_is_told_from_other_code() {
        let mut symbols = Symbols::default();
        for (at, name) in [
            (100, "Builtins_LoadIC"),
            (110, "Builtins_InterpreterEntryTrampoline"),
            (130, "Builtins_LdaZeroHandler"),
            (120, "Builtins_ArrayMap"),
            (140, "Builtins_Add_Baseline"),
            (90, "main"),
            (150, "v8::internal::Handler"),
        ] {
            symbols.add(at, 10, name.as_bytes());
        }
        symbols.sort();
        let builtins = Builtins::of(&symbols);
        for (address, expected) in [
            (99, None),
            (100, Some(V8Code::Builtin)),
            (119, Some(V8Code::Interpreter)),
            (120, Some(V8Code::Builtin)),
            (139, Some(V8Code::Interpreter)),
            (149, Some(V8Code::Interpreter)),
            (150, None),
        ] {
            assert_eq!(builtins.code(address), expected, "{address}");
        }
        assert_eq!(Builtins::of(&Symbols::default()).code(0), None);
    }
}
