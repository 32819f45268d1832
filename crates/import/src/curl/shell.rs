//! Splits a command line as a shell does, as far as copied commands need it.

use crate::Error;
use std::collections::BTreeSet;

/// Commands, and notes on shell features that are not supported.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Words of each command.
    pub commands: Vec<Vec<Vec<u8>>>,
    pub notes: Vec<String>,
    /// Placeholders that replace shell variables.
    pub variables: BTreeSet<String>,
}

/// Splits a text as bash does: quotes, `$'…'`, continued lines, several commands. Variables become `{env:NAME}`.
///
/// # Errors
/// If a quote is not closed.
pub(super) fn split(text: &str) -> Result<Script, Error> {
    let mut shell = ShellParser { text, at: 0, script: Script::default(), command: Vec::new(), word: None };
    shell.run()?;
    shell.end_command();
    Ok(shell.script)
}

struct ShellParser<'a> {
    text: &'a str,
    at: usize,
    script: Script,
    command: Vec<Vec<u8>>,
    word: Option<Vec<u8>>,
}

impl<'a> ShellParser<'a> {
    fn run(&mut self) -> Result<(), Error> {
        while let Some(c) = self.next() {
            match c {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some('\r') if self.rest().starts_with('\n') => self.at += 1,
                    Some(c) => self.push(c),
                },
                '\'' => {
                    let quoted = self.take_until('\'', "'")?;
                    self.word().extend_from_slice(quoted.as_bytes());
                }
                '"' => self.double_quoted()?,
                '$' if self.rest().starts_with('\'') => self.ansi_quoted()?,
                '$' if self.rest().starts_with('"') => {}
                '$' => self.dollar()?,
                '`' => self.command_substitution('`')?,
                '\n' | ';' => self.end_command(),
                '&' if self.rest().starts_with('>') => self.redirection(),
                '&' => self.end_command(),
                '|' if self.rest().starts_with('|') => self.end_command(),
                '|' => self.pipe(),
                '>' | '<' => self.redirection(),
                '#' if self.word.is_none() => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        Ok(())
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// What stands before this character, which is skipped too.
    fn take_until(&mut self, close: char, open: &str) -> Result<&'a str, Error> {
        let (inner, _) = self.rest().split_once(close).ok_or_else(|| unclosed(open))?;
        self.at += inner.len() + close.len_utf8();
        Ok(inner)
    }

    /// The word being read; a quote begins one even if it is empty.
    fn word(&mut self) -> &mut Vec<u8> {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.word().extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn end_word(&mut self) {
        self.command.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.command.is_empty() {
            self.script.commands.push(std::mem::take(&mut self.command));
        }
    }

    fn double_quoted(&mut self) -> Result<(), Error> {
        self.word();
        loop {
            match self.next().ok_or_else(|| unclosed("\""))? {
                '"' => return Ok(()),
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.dollar()?,
                '`' => self.command_substitution('`')?,
                c => self.push(c),
            }
        }
    }

    /// `$'…'`, which Chrome and Firefox use for anything with a quote or a control character.
    fn ansi_quoted(&mut self) -> Result<(), Error> {
        self.at += 1;
        self.word();
        loop {
            let c = self.next().ok_or_else(|| unclosed("$'"))?;
            if c == '\'' {
                return Ok(());
            }
            if c != '\\' {
                self.push(c);
                continue;
            }
            let byte = match self.next().ok_or_else(|| unclosed("$'"))? {
                'n' => b'\n',
                't' => b'\t',
                'r' => b'\r',
                'a' => 7,
                'b' => 8,
                'e' | 'E' => 27,
                'f' => 12,
                'v' => 11,
                'x' => self.number(16, 2).map_or(b'x', |n| n as u8),
                kind @ ('u' | 'U') => {
                    self.code_point(if kind == 'u' { 4 } else { 8 });
                    continue;
                }
                '0'..='7' => {
                    self.at -= 1;
                    self.number(8, 3).unwrap_or_default() as u8
                }
                c @ ('\'' | '"' | '\\' | '?') => c as u8,
                c => {
                    self.push('\\');
                    self.push(c);
                    continue;
                }
            };
            self.word().push(byte);
        }
    }

    /// At most `most` digits.
    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let digits = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let number = u32::from_str_radix(&self.rest()[..digits], radix).ok()?;
        self.at += digits;
        Some(number)
    }

    /// Half a surrogate pair, as JavaScript escapes what is beyond `\uffff`, waits for its other half.
    fn code_point(&mut self, most: usize) {
        let Some(first) = self.number(16, most) else { return };
        let mut point = first;
        if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            let start = self.at;
            self.at += 2;
            match self.number(16, 4) {
                Some(second) if (0xdc00..0xe000).contains(&second) => {
                    point = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                }
                _ => self.at = start,
            }
        }
        self.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
    }

    /// `$NAME`, `${NAME}`, `$(command)`; any other `$` is text.
    fn dollar(&mut self) -> Result<(), Error> {
        let rest = self.rest();
        if rest.starts_with('(') {
            self.at += 1;
            return self.command_substitution(')');
        }
        let braced = rest.starts_with('{');
        let name = &rest[usize::from(braced)..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name[..name.find(|c| !is_name(c)).unwrap_or(name.len())].to_owned();
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            self.push('$');
            return Ok(());
        }
        self.at += name.len();
        if braced {
            let more = &self.take_until('}', "${")?[1..];
            if !more.is_empty() {
                self.note(format!(
                    "what stands behind the name in ${{{name}…}} is not carried over: {name} is taken from the \
                     environment"
                ));
            }
        }
        self.variable(&name);
        self.note(format!("the shell's variable {name} is taken from the environment: export {name}='…'"));
        Ok(())
    }

    fn command_substitution(&mut self, close: char) -> Result<(), Error> {
        let open = if close == ')' { "$(" } else { "`" };
        let command = shortened(self.take_until(close, open)?);
        let number = self.script.variables.iter().filter(|name| name.starts_with("{env:COMMAND")).count();
        let name = if number == 0 { "COMMAND".to_owned() } else { format!("COMMAND_{}", number + 1) };
        self.variable(&name);
        self.note(format!("{open}{command}{close} is not run: export {name}='…' with what it says"));
        Ok(())
    }

    fn variable(&mut self, name: &str) {
        let placeholder = format!("{{env:{name}}}");
        self.word().extend_from_slice(placeholder.as_bytes());
        self.script.variables.insert(placeholder);
    }

    /// The reader of the answer is not part of the request.
    fn pipe(&mut self) {
        self.end_word();
        let end = self.rest().find(['\n', ';']).unwrap_or(self.rest().len());
        let reader = shortened(&self.rest()[..end]);
        self.at += end;
        self.note(format!("'| {reader}' is not carried over: answers are not kept"));
        self.end_command();
    }

    /// `> file`, `2>&1`, `< file`.
    fn redirection(&mut self) {
        let number = |word: &Vec<u8>| word.len() == 1 && word[0].is_ascii_digit();
        if self.word.as_ref().is_some_and(number) {
            self.word = None;
        }
        self.end_word();
        let from =
            self.rest().find(|c| !matches!(c, '>' | '<' | '&' | '|' | ' ')).unwrap_or(self.rest().len());
        self.at += from;
        let end = self.rest().find(|c: char| c.is_whitespace() || c == ';').unwrap_or(self.rest().len());
        self.at += end;
    }

    fn note(&mut self, note: String) {
        if !self.script.notes.contains(&note) {
            self.script.notes.push(note);
        }
    }
}

/// The first word of a command, for notes: what follows may be secret.
pub(super) fn shortened(command: &str) -> String {
    const MAX_SHOWN: usize = 40;
    let command = command.trim();
    let end = command.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(command.len());
    let name: String = command[..end].chars().take(MAX_SHOWN).collect();
    let rest = if name.len() < command.len() { " …" } else { "" };
    name + rest
}

fn unclosed(open: &str) -> Error {
    Error::new(format!(
        "the command has an unclosed {open}; copy all of it, and pass it in single quotes or from a file"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&[&str]]) {
        let script = split(text).expect(text);
        let found: Vec<Vec<String>> = script
            .commands
            .iter()
            .map(|words| words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect())
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn takes_words_apart_as_bash_does() {
        for (text, words) in [
            ("curl  a\tb", &["curl", "a", "b"][..]),
            ("curl 'a b'\\''c' \"d\\\"e\\n\"", &["curl", "a b'c", "d\"e\\n"]),
            ("curl \\\n  'a' \\\r\n -b", &["curl", "a", "-b"]),
            ("curl '' \"\"", &["curl", "", ""]),
            (r"curl $'a\'b\n\u0021\x41\101\\'", &["curl", "a'b\n!AA\\"]),
            (r"curl $'\ud83d\ude00 \u20ac'", &["curl", "😀 €"]),
            (r"curl $'\ud83d' $'\q'", &["curl", "\u{fffd}", "\\q"]),
            ("curl a'b'\"c\"$'d'", &["curl", "abcd"]),
            ("curl a # b 'c", &["curl", "a"]),
            ("curl a#b", &["curl", "a#b"]),
            ("curl a > out.json 2>&1 b", &["curl", "a", "b"]),
            ("curl a 2>/dev/null", &["curl", "a"]),
            ("curl \"$TOKEN\" ${USER}x '$NO' 5$", &["curl", "{env:TOKEN}", "{env:USER}x", "$NO", "5$"]),
            ("curl \"Bearer $(cat t)\" `b`", &["curl", "Bearer {env:COMMAND}", "{env:COMMAND_2}"]),
            ("curl a | jq '.x", &["curl", "a"]),
        ] {
            check(text, &[words]);
        }
        check("curl a ;\ncurl b && curl c & ", &[&["curl", "a"], &["curl", "b"], &["curl", "c"]]);
        check("", &[]);
    }

    #[test]
    fn says_what_is_not_closed() {
        for text in ["curl 'a", "curl \"a", "curl $'a", "curl $'a\\", "curl ${A", "curl $(a", "curl `a"] {
            let error = split(text).expect_err(text).to_string();
            assert!(error.contains("unclosed"), "{error}");
        }
    }

    #[test]
    fn names_what_the_shell_would_do() {
        let script = split("curl $A ${B:-x} $(date) $A | jq .").expect("closed");
        assert_eq!(script.notes.len(), 5, "{:?}", script.notes);
        assert_eq!(script.variables.len(), 3);
    }
}
