//! A command line's words, as a shell splits them, up to the end of the command.

pub fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '|' | '>' | '<' | ';' | '&' => break,
            '#' if word.is_none() => break,
            '\'' | '"' => word.get_or_insert_default().extend(letters.by_ref().take_while(|c| *c != letter)),
            '\\' => word.get_or_insert_default().extend(letters.next()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn as_a_shell_makes_them() {
    for (line, expected) in [
        ("a  b 'c d'e # f", vec!["a", "b", "c de"]),
        ("a \"b 'c'\" d\\ e > f", vec!["a", "b 'c'", "d e"]),
        ("a '' b#c | d", vec!["a", "", "b#c"]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}
