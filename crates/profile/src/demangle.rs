//! Demangling of function names.

use std::borrow::Cow;
use std::fmt;

/// Longer names are cut: templates may run to thousands of letters.
const LONGEST: usize = 400;

/// Demangles a name, on one line: C++ without argument types, Rust without the hash.
pub fn demangle(symbol: &[u8]) -> String {
    let name = String::from_utf8_lossy(symbol);
    let plain = demangled(&name).map_or(name, Cow::Owned);
    sanitize(&plain)
}

/// Removes line breaks and cuts to the maximum length.
pub fn sanitize(name: &str) -> String {
    let mut tidy: String = name.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if name.chars().nth(LONGEST).is_some() {
        tidy.push('…');
    }
    tidy
}

fn demangled(name: &str) -> Option<String> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut text = BoundedString::default();
        // Names that are too long are cut; names that cannot be demangled stay as they are.
        return (fmt::write(&mut text, format_args!("{rust:#}")).is_ok() || text.is_full())
            .then_some(text.0)
            .filter(|text| !text.is_empty());
    }
    if !name.starts_with("_Z") {
        return None;
    }
    let behind = thunk_target(name);
    let symbol = cpp_demangle::Symbol::new(behind.as_deref().unwrap_or(name)).ok()?;
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().recursion_limit(96);
    symbol.demangle_with_options(&options).ok()
}

/// The method behind a compiler's thunk, which first adjusts `this` by one or two offsets: `_ZThn16_…`,
/// `_ZTv0_n24_…` (Itanium C++ ABI).
fn thunk_target(name: &str) -> Option<String> {
    let offset = |text: &str| {
        let digits = text.strip_prefix('n').unwrap_or(text);
        digits.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('_').map(str::to_owned)
    };
    let rest = match name.strip_prefix("_ZT")?.split_at_checked(1)? {
        ("h", rest) => offset(rest)?,
        ("v", rest) => offset(&offset(rest)?)?,
        _ => return None,
    };
    Some(format!("_Z{rest}"))
}

/// Accepts no more than will be shown.
#[derive(Default)]
struct BoundedString(String);

impl BoundedString {
    fn is_full(&self) -> bool {
        self.0.len() > 4 * LONGEST
    }
}

impl fmt::Write for BoundedString {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_full() {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_in_the_source() {
        for (symbol, expected) in [
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_ZN7rocksdb6DBImpl3GetEv", "rocksdb::DBImpl::Get"),
            ("_ZThn56_N4node6Parser12OnStreamReadElRK8uv_buf_t", "node::Parser::OnStreamRead"),
            ("_ZTv0_n24_N1a1bEv", "a::b"),
            ("_ZThn", "_ZThn"),
            ("ngx_http_process_request", "ngx_http_process_request"),
            ("runtime.mallocgc", "runtime.mallocgc"),
            ("_Znonsense", "_Znonsense"),
            ("a\nb\tc", "a b c"),
            ("", ""),
        ] {
            assert_eq!(demangle(symbol.as_bytes()), expected, "{symbol}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let name = demangle(&[b'x'; 10_000]);
        assert_eq!(name.chars().count(), LONGEST + 1);
        // A self-referencing name expands without end.
        let mut nested = "_ZN1a".to_owned();
        nested.extend((0..200).map(|_| "IS_S_"));
        assert!(demangle(nested.as_bytes()).len() < 2 * LONGEST * 4);
    }
}
