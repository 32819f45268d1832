//! Names of threads and processes without their numbers, so that those of one kind share a name.

/// Replaces each run of digits by one N, and unprintable characters by question marks.
pub fn without_digits(text: impl Iterator<Item = char>) -> String {
    let mut folded = String::new();
    let mut in_number = false;
    for c in text {
        let is_digit = c.is_ascii_digit();
        if is_digit && !in_number {
            folded.push('N');
        } else if !is_digit {
            folded.push(if c.is_control() { '?' } else { c });
        }
        in_number = is_digit;
    }
    folded
}

/// The group of a thread, by its name. A prefix as the JVM gives its compilers and collectors, `C2 ` or `G1 `,
/// is kept: the digit is the kind, not a number. The kernel keeps fifteen characters of a name, the last of
/// which may be a blank.
pub fn thread_group(name: &str) -> String {
    let name = name.trim_end();
    let is_kind = matches!(name.as_bytes(), [b'A'..=b'Z', b'0'..=b'9', b' ', ..]);
    let (kind, rest) = name.split_at(if is_kind { 2 } else { 0 });
    kind.to_owned() + &without_digits(rest.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_no_kinds() {
        for (name, folded) in [
            ("http-nio-127.0.0.1-auto-1-exec-12", "http-nio-N.N.N.N-auto-N-exec-N"),
            ("C2 CompilerThread0", "C2 CompilerThreadN"),
            ("G1 Conc#0", "G1 Conc#N"),
            ("worker 7", "worker N"),
            ("N5 x", "N5 x"),
            ("a\u{1b}b", "a?b"),
            ("C2", "CN"),
            ("7", "N"),
            ("main", "main"),
            ("starman worker ", "starman worker"),
            ("", ""),
        ] {
            assert_eq!(thread_group(name), folded);
        }
        assert_eq!(without_digits("php-fpm: pool www2".chars()), "php-fpm: pool wwwN");
    }
}
