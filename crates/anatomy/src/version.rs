/// The name and version embedded in a C library: `glibc 2.36`. None if absent or in another form.
pub fn libc_version(bytes: &[u8]) -> Option<String> {
    // Both print it when run as programs.
    if let Some(rest) = after(bytes, b"GNU C Library ") {
        let line = rest.split(|byte| *byte == b'\n' || *byte == 0).next()?;
        let version = after(line, b"release version ")?;
        return Some(format!("glibc {}", number(version)?));
    }
    after(bytes, b"musl libc (").map(|_| "musl".to_owned())
}

fn after<'a>(bytes: &'a [u8], text: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(text.len()).position(|window| window == text)?;
    bytes.get(at + text.len()..)
}

/// Digits and dots, up to a dot that ends the sentence.
fn number(text: &[u8]) -> Option<&str> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.').unwrap_or(text.len());
    let number = std::str::from_utf8(text.get(..end)?).ok()?.trim_end_matches('.');
    (!number.is_empty()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libraries_say() {
        let said = b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright";
        assert_eq!(libc_version(said).as_deref(), Some("glibc 2.36"));
        assert_eq!(libc_version(b"musl libc (x86_64)\nVersion %s").as_deref(), Some("musl"));
        assert_eq!(libc_version(b"GNU C Library \0 release version 2"), None);
        assert_eq!(libc_version(b""), None);
    }
}
