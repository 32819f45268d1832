//! Whether an output matches the one shown, except for what differs by machine and moment: numbers, sizes, times, IDs
//! and drawings. A line `…` stands for any lines, and ` …` at a line's end for the rest of it.

/// Marks a line, or its end, as left out.
const LEFT_OUT: &str = "…";

/// Units that may follow a number, and change with its size.
const UNITS: [&str; 17] =
    ["ns", "µs", "ms", "s", "min", "h", "d", "%", "B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "times"];

/// What may precede a number that states a verdict's confidence.
const CONFIDENCE: [&str; 3] = ["low", "medium", "high"];

/// `None` if the output matches; otherwise the first shown line that does not.
pub fn differs(shown: &[String], real: &[String]) -> Option<String> {
    let lines: Vec<String> = real.iter().map(|line| plain(line)).collect();
    let pieces: Vec<&[String]> = shown.split(|line| line.trim() == LEFT_OUT).collect();
    let last = pieces.len() - 1;
    let mut at = 0;
    for (number, piece) in pieces.iter().enumerate() {
        let wanted: Vec<String> = piece.iter().map(|line| plain(line)).collect();
        let fits = |from: usize| {
            let part = lines.get(from..from + wanted.len());
            part.is_some_and(|part| part.iter().zip(&wanted).all(|(real, shown)| is(real, shown)))
        };
        // Nothing is left out before the first piece, nor after the last.
        let end = lines.len().checked_sub(wanted.len());
        let found = match (number == 0, number == last) {
            (true, true) => Some(0).filter(|_| end == Some(0)),
            (true, false) => Some(0),
            (false, true) => end.filter(|from| *from >= at),
            (false, false) => (at..=lines.len()).find(|from| fits(*from)),
        };
        match found.filter(|from| fits(*from)) {
            Some(from) => at = from + wanted.len(),
            None => return Some(first_missing(piece, &wanted, &lines[at.min(lines.len())..])),
        }
    }
    None
}

/// A missing piece's first line that is nowhere, or else its first line.
fn first_missing(piece: &[String], wanted: &[String], lines: &[String]) -> String {
    let nowhere = wanted.iter().position(|shown| !lines.iter().any(|real| is(real, shown)));
    match (nowhere, piece.first()) {
        (Some(at), _) => piece[at].clone(),
        (None, Some(first)) => format!("{first}   (and what is below it, in this order)"),
        (None, None) => "(the end)".to_owned(),
    }
}

fn is(real: &str, shown: &str) -> bool {
    match shown.strip_suffix(LEFT_OUT).and_then(|shown| shown.strip_suffix(' ')) {
        Some(beginning) => real.starts_with(beginning),
        None => real == shown,
    }
}

/// A line without what differs by machine and moment.
pub fn plain(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let word = drawing(&numbers(word));
        let follows = words.last().map(String::as_str).unwrap_or_default();
        let bare = word.trim_end_matches([',', ';', ':', '.', ')']);
        // `902 µs` and `1.2 ms`, `1 min 20 s` and `80 s` are equal; so are three bars and two.
        if follows.ends_with('#') && UNITS.contains(&bare) {
            let punctuation = &word[bare.len()..];
            words.last_mut().expect("it follows one").push_str(punctuation);
        } else if (word == "#" || word == "~") && follows == word {
        } else if word.starts_with('#') && CONFIDENCE.contains(&follows) {
            // `high 0.98` and `medium 0.7` are equal: a busy machine gives less evidence.
            *words.last_mut().expect("it follows one") = word;
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Every number, with its attached unit, becomes one sign. Digits that belong to a name, as in p99, stay.
fn numbers(word: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    let mut plain = String::new();
    let mut at = 0;
    while at < letters.len() {
        let in_a_name = at > 0 && (letters[at - 1].is_alphabetic() || letters[at - 1] == '_');
        let signed = matches!(letters[at], '+' | '-' | '−') && !in_a_name && at == 0;
        let digit = at + usize::from(signed);
        if !in_a_name && letters.get(digit).is_some_and(char::is_ascii_digit) {
            at = digit;
            let part = |at: usize| {
                let next_is_digit = letters.get(at + 1).is_some_and(char::is_ascii_digit);
                letters[at].is_alphanumeric() || (matches!(letters[at], '.' | ',') && next_is_digit)
            };
            while at < letters.len() && (part(at) || is_of_an_id(&letters, at)) {
                at += 1;
            }
            if letters.get(at) == Some(&'%') {
                at += 1;
            }
            plain.push('#');
        } else {
            plain.push(letters[at]);
            at += 1;
        }
    }
    plain
}

/// Whether this is a hyphen of a run's ID, such as 20261120-161502-k3f.
fn is_of_an_id(letters: &[char], at: usize) -> bool {
    let digits = letters[..at].iter().rev().take_while(|c| c.is_ascii_digit()).count();
    letters[at] == '-' && digits >= 6
}

/// Bars, curves and intervals become one sign.
fn drawing(word: &str) -> String {
    let mut plain = String::new();
    for letter in word.chars() {
        let drawn = matches!(letter, '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}');
        match drawn {
            true if plain.ends_with('~') => {}
            true => plain.push('~'),
            false => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn what_differs_by_moment_is_alike() {
        for (one, other) in [
            (
                "  holds 1,983 requests/s   (between 1,983 and 2,022)",
                "holds 990 requests/s (between 9 and 1,000)",
            ),
            ("p99  902 µs  4.26 ms", "p99  1.2 s   12 ms"),
            ("took 1 min 20 s, in all", "took 80 s, in all"),
            ("run 20261120-161502-k3f", "run 20261231-000000-zz9"),
            ("25 %    496/s", "25 %  1,496/s"),
            ("a ├─┼─●─┼┤ b", "a  ┊ ●┼ ┊  b"),
            ("flags 0x1200011", "flags 0x7f"),
            ("-3 %", "+12.5 %"),
            ("pool - high 1.00 right", "pool - medium 0.64 right"),
        ] {
            assert_eq!(plain(one), plain(other));
        }
        for (one, other) in [
            ("p50 1 ms", "p99 1 ms"),
            ("confidence: high", "confidence: low"),
            ("3 bad", "3 good"),
            ("HTTP/2", "HTTP/x"),
            ("worker-a", "worker-b"),
        ] {
            assert_ne!(plain(one), plain(other));
        }
    }

    #[test]
    fn lines_may_be_left_out_where_it_is_said() {
        let real = lines("a 1\nb 2\nc 3\nd 4 and more\n");
        for shown in [
            "a 1\nb 2\nc 3\nd 4 and more",
            "…",
            "a 9\n…",
            "…\nd 1 and more",
            "a 1\n…\nc 1\nd 5 …",
            "…\nb 7\n…",
        ] {
            assert_eq!(differs(&lines(shown), &real), None, "{shown}");
        }
        for (shown, missing) in [
            ("", "(the end)"),
            ("a 1", "a 1   (and what is below it, in this order)"),
            ("b 2\n…", "b 2   (and what is below it, in this order)"),
            ("…\nx\n…", "x"),
            ("…\nc 3\nb 2\n…", "c 3   (and what is below it, in this order)"),
            ("…\nc 3", "c 3   (and what is below it, in this order)"),
            ("a 1\nb 2\nc 3\nd 4 or …", "d 4 or …"),
        ] {
            assert_eq!(differs(&lines(shown), &real).as_deref(), Some(missing), "{shown}");
        }
    }
}
