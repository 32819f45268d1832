//! Redacts SQL statements for display.

/// Maximum length.
const MOST: usize = 200;

/// A statement on one line and shortened, with `?` for literals: these may be customers' data.
pub(super) fn redact(statement: &str) -> String {
    let mut redacted = String::new();
    let mut rest = statement.trim_start().chars().peekable();
    let mut length = 0;
    while let Some(c) = rest.next() {
        if length >= MOST {
            redacted.push('…');
            break;
        }
        length += 1;
        let in_word = redacted.ends_with(|p: char| p.is_alphanumeric() || matches!(p, '_' | '$' | '"'));
        match c {
            '\'' => {
                redacted.push('?');
                skip_text(&mut rest, redacted.trim_end_matches('?').ends_with(['E', 'e']));
            }
            '$' if rest.peek() == Some(&'$') => {
                redacted.push('?');
                rest.next();
                while let Some(c) = rest.next() {
                    if c == '$' && rest.next_if_eq(&'$').is_some() {
                        break;
                    }
                }
            }
            '0'..='9' if !in_word => {
                redacted.push('?');
                while rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '.').is_some() {}
            }
            c if c.is_whitespace() || c.is_control() => {
                while rest.next_if(|c| c.is_whitespace() || c.is_control()).is_some() {}
                if rest.peek().is_some() {
                    redacted.push(' ');
                }
            }
            c => redacted.push(c),
        }
    }
    redacted
}

/// Skips the rest of a quoted string, after its opening quote.
fn skip_text(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, escapes: bool) {
    while let Some(c) = rest.next() {
        match c {
            '\\' if escapes => {
                rest.next();
            }
            // A doubled quote is part of the string.
            '\'' if rest.next_if_eq(&'\'').is_none() => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_left_out_and_names_are_not() {
        for (statement, expected) in [
            ("UPDATE t1 SET n = n + 1 WHERE id = 4711", "UPDATE t1 SET n = n + ? WHERE id = ?"),
            (
                "SELECT *\n  FROM \"o1\"  WHERE a='it''s' AND b=$1\n",
                "SELECT * FROM \"o1\" WHERE a=? AND b=$1",
            ),
            (r"SELECT E'a\'b', 1.5e3, 'x', 0xff", "SELECT E?, ?, ?, ?"),
            ("SELECT $$a 'b' $$, 2", "SELECT ?, ?"),
            ("SELECT 'cut off", "SELECT ?"),
            ("", ""),
        ] {
            assert_eq!(redact(statement), expected);
        }
        let long = redact(&"SELECT a, ".repeat(100));
        assert_eq!(long.chars().count(), MOST + 1);
        assert!(long.ends_with('…'));
    }

    proptest! {
        #[test]
        fn any_text_is_shown_shortened(text in "\\PC{0,300}") {
            prop_assert!(redact(&text).chars().count() <= MOST + 1);
        }

        #[test]
        fn no_value_is_shown(before in "[a-z =(,]{0,20}", value in "[A-Z]{3}[^'\\\\]{0,20}") {
            let text = format!("{before} '{value}' and 1");
            prop_assert!(!redact(&text).contains(&value), "{}", redact(&text));
        }
    }
}
