use record::exit;
use std::str::FromStr;

/// A run's status, by its command's exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Still running.
    Running,
    /// Without an end.
    CutShort,
    /// It ended with this exit code.
    Code(u8),
}

impl RunStatus {
    /// Every word for a status in filters, with its description.
    pub const WORDS: [(&str, &str, Self); 9] = [
        ("met", "The goal was met, or the limit found", Self::Code(exit::MET)),
        ("not-met", "The goal was not met", Self::Code(exit::NOT_MET)),
        ("undecided", "Undecided", Self::Code(exit::UNDECIDED)),
        ("not-trustworthy", "Measured, but not trustworthy", Self::Code(exit::NOT_TRUSTWORTHY)),
        ("not-recovered", "The target did not recover", Self::Code(exit::NOT_RECOVERED)),
        ("interrupted", "Interrupted", Self::Code(exit::INTERRUPTED)),
        ("failed", "Nothing could be measured", Self::Code(exit::ERROR)),
        ("running", "Still running", Self::Running),
        ("cut-short", "Stopped without a result", Self::CutShort),
    ];
}

impl FromStr for RunStatus {
    type Err = String;

    /// # Errors
    /// In words, if it is none of [`RunStatus::WORDS`].
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.into_iter().find(|(word, ..)| *word == text);
        found.map(|(.., came_to)| came_to).ok_or_else(|| {
            let words = Self::WORDS.map(|(word, ..)| word).join(", ");
            format!("'{text}' is not a result of a run; expected one of: {words}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_others_refused() {
        assert_eq!("not-met".parse(), Ok(RunStatus::Code(99)));
        assert_eq!("cut-short".parse(), Ok(RunStatus::CutShort));
        for text in ["", "Met", "99", "<b>"] {
            let refused = text.parse::<RunStatus>().expect_err(text);
            assert!(
                refused.starts_with(&format!("'{text}' is not a result")) && refused.contains("not-met"),
                "{refused}"
            );
        }
    }
}
