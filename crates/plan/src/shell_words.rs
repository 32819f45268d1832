//! A command in one text.

/// Splits a text at blanks as a shell does: quotes of both kinds keep blanks, a backslash keeps what follows it (not
/// within single quotes; within double ones only `"` and `\`). Nothing else is special.
///
/// # Errors
/// If a quote is not closed.
pub(crate) fn split_words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let into = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err("a quote is not closed"),
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => {
                            into.push(letters.next_if(|next| matches!(next, '"' | '\\')).unwrap_or('\\'));
                        }
                        Some(other) => into.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next().unwrap_or('\\')),
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn splits_as_a_shell_does() {
        for (text, expected) in [
            ("", &[][..]),
            ("java -jar  app.jar ", &["java", "-jar", "app.jar"]),
            ("a 'b  c'd \"e f\"", &["a", "b  cd", "e f"]),
            (r#"'a\b' "a\"\\\n" a\ b \"#, &[r"a\b", r#"a"\\n"#, "a b", r"\"]),
            ("'' \"\"", &["", ""]),
            ("$HOME `x` *", &["$HOME", "`x`", "*"]),
        ] {
            assert_eq!(split_words(text).expect(text), expected, "{text}");
        }
        for text in ["'a", "a \"b'", "\"a\\\""] {
            assert_eq!(split_words(text), Err("a quote is not closed"), "{text}");
        }
    }
}
