//! The kept part of a program's output: its beginning, its end, and how much was between them.

use record::ProgramLog;
use std::collections::VecDeque;

/// The beginning shows how it was started and with which settings.
const HEAD_BYTES: usize = 64 << 10;
/// The end shows why it stopped.
const TAIL_BYTES: usize = 192 << 10;
/// Maximum length of a line that is searched; the rest of a longer one is not.
const MAX_LINE_BYTES: usize = 64 << 10;

/// The output of a program so far.
#[derive(Debug, Default)]
pub struct CapturedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl CapturedOutput {
    pub fn append(&mut self, printed: &[u8]) {
        let (first, rest) = printed.split_at(printed.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    /// Everything that was kept, as the log of `program`.
    pub fn log(&self, program: &str) -> ProgramLog {
        let (head, tail) = (&self.head, self.tail.iter().copied());
        let mut text = String::from_utf8_lossy(head).into_owned();
        if self.left_out > 0 {
            text.push_str(&format!("\n[{} bytes are left out here]\n", self.left_out));
        }
        text.push_str(&String::from_utf8_lossy(&tail.collect::<Vec<u8>>()));
        ProgramLog { program: program.to_owned(), text, left_out: self.left_out }
    }

    /// The last non-empty lines, oldest first.
    pub fn last(&self, lines: usize) -> Vec<String> {
        let ProgramLog { text, .. } = self.log("");
        let mut last: Vec<String> =
            text.lines().rev().filter(|line| !line.trim().is_empty()).take(lines).map(shortened).collect();
        last.reverse();
        last
    }
}

/// A line shortened to fit a message.
fn shortened(line: &str) -> String {
    const MAX_CHARS: usize = 300;
    if line.chars().count() <= MAX_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_CHARS).chain("…".chars()).collect()
}

/// Searches output for a line that contains a text.
#[derive(Debug)]
pub struct LineMatcher {
    text: String,
    line: Vec<u8>,
}

impl LineMatcher {
    /// Before any output.
    pub fn new(text: String) -> Self {
        Self { text, line: Vec::new() }
    }

    /// Whether a line contains the text, including what was just printed. A line need not be complete.
    pub fn matches(&mut self, printed: &[u8]) -> bool {
        for (number, part) in printed.split(|byte| *byte == b'\n').enumerate() {
            if number > 0 {
                self.line.clear();
            }
            self.line.extend_from_slice(&part[..part.len().min(MAX_LINE_BYTES - self.line.len())]);
            if String::from_utf8_lossy(&self.line).contains(&self.text) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut output = CapturedOutput::default();
        output.append(b"first\n\n");
        assert_eq!(
            output.log("a"),
            ProgramLog { program: "a".into(), text: "first\n\n".into(), left_out: 0 }
        );
        for number in 0..100_000 {
            output.append(format!("line {number}\n").as_bytes());
        }
        output.append("ü".repeat(1000).as_bytes());
        let log = output.log("a");
        assert!(log.text.starts_with("first\n\nline 0\n"));
        let all = 7 + (0..100_000).map(|n: u32| n.to_string().len() + 6).sum::<usize>() + 2000;
        assert_eq!(log.left_out, (all - HEAD_BYTES - TAIL_BYTES) as u64);
        assert!(log.text.contains(&format!("[{} bytes are left out here]", log.left_out)));
        let last = output.last(3);
        assert_eq!(last.len(), 3);
        assert_eq!(last[0], "line 99998");
        assert_eq!(last[2].chars().count(), 301);
        assert!(log.text.len() <= HEAD_BYTES + TAIL_BYTES + 100);
    }

    #[test]
    fn a_line_is_found_in_pieces_but_not_across_lines() {
        let mut matcher = LineMatcher::new("is ready".into());
        assert!(!matcher.matches(b"server is"));
        assert!(!matcher.matches(b"\n ready\nis rea"));
        assert!(matcher.matches(b"dy"));
        let mut matcher = LineMatcher::new("is ready".into());
        assert!(!matcher.matches(&[b'x'; 200_000]));
        assert!(matcher.matches(b"\nnow it is ready to go\nmore"));
    }
}
