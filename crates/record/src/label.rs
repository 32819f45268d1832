use serde::{Deserialize, Serialize};

/// A run's name and tags, to find it again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Label {
    /// Its name; if several runs share one, it means the latest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Tags as given: `KEY=VALUE` or a word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The commit checked out in torment's working directory, its first twelve hexadecimal digits; none outside a git repository. Whether
    /// files differed from it is unknown: only git itself can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Label {
    /// Whether it has neither name, tags nor commit.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether it has this tag: as given, or as a key with any value.
    pub fn has(&self, wanted: &str) -> bool {
        self.tags.iter().any(|tag| tag == wanted || tag.split_once('=').is_some_and(|(key, _)| key == wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_asked_for_whole_or_by_its_key() {
        let tags = ["pool=10", "nightly"].map(str::to_owned).to_vec();
        let label = Label { tags, ..Label::default() };
        for (asked, expected) in [
            ("pool=10", true),
            ("pool", true),
            ("nightly", true),
            ("pool=1", false),
            ("10", false),
            ("", false),
        ] {
            assert_eq!(label.has(asked), expected, "{asked}");
        }
    }

    #[test]
    fn what_is_not_said_takes_no_room() {
        assert_eq!(serde_json::to_string(&Label::default()).expect("it can be written"), "{}");
        let back: Label = serde_json::from_str("{\"newer\":1}").expect("what is not known is passed over");
        assert!(back.is_empty());
    }
}
