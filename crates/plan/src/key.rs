//! Every key that a plan file may hold, and where.

/// Makes each line of the table a variant of [`Key`], with its text as the doc comment, and a [`KeySpec`].
macro_rules! keys {
    ($($(#[doc = $about:literal])+ $key:ident: $name:literal, $sections:expr, $kind:expr, $example:literal, $left_out:expr;)+) => {
        /// Every key of a plan; most are command-line options too.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $($(#[doc = $about])+ $key,)+
        }

        pub(super) const ALL: &[super::KeySpec] = &[$(super::KeySpec {
            key: Key::$key,
            sections: $sections,
            name: $name,
            kind: $kind,
            about: concat!($($about),+),
            example: $example,
            left_out: $left_out,
        }),+];
    };
}

mod table;

pub use table::Key;

/// A key as written, and its description for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeySpec {
    pub(crate) key: Key,
    /// Sections of the file it may stand in; the top level has no name.
    pub(crate) sections: &'static [&'static str],
    pub(crate) name: &'static str,
    pub(crate) kind: ValueKind,
    /// What it means, in one sentence.
    pub(crate) about: &'static str,
    /// A value as TOML.
    pub(crate) example: &'static str,
    pub(crate) left_out: DefaultValue,
}

/// What omitting a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultValue {
    /// The key is required.
    Must,
    /// The same as this TOML value.
    Is(&'static str),
    /// This, in words.
    Means(&'static str),
}

/// The shapes of TOML value that a key accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// A string.
    Text,
    /// A string, or a number in this unit.
    Quantity(&'static str),
    /// A boolean.
    Flag,
    /// A string, a number, or an array of them.
    List,
    /// An array of strings, or one string that is split as a shell does.
    Words,
    /// A table of strings, or an array of strings with this separator between name and value.
    Pairs(char),
    /// As pairs with `=`, but values may be booleans.
    Values,
}

const TIME: ValueKind = ValueKind::Quantity("time");
const RATE: ValueKind = ValueKind::Quantity("rate");
const SHARE: ValueKind = ValueKind::Quantity("share");
const BYTES: ValueKind = ValueKind::Quantity("bytes");
const NUMBER: ValueKind = ValueKind::Quantity("number");

/// `[request]`, each `[[request]]` and each `[[flow.step]]` take the same keys.
const REQUEST_SECTIONS: &[&str] = &["request", "flow.step"];
/// So do `[service]` and each `[need.NAME]`,
const PROGRAM_SECTIONS: &[&str] = &["service", "need"];
/// of which a `[[variant]]` changes some.
const VARIANT_SECTIONS: &[&str] = &["service", "need", "variant"];
/// Whatever is started can be limited.
const LIMIT_SECTIONS: &[&str] = &["service", "need", "postgres", "variant"];
/// `[quick]` overrides `[try]` and `[find]`.
const TRY_SECTIONS: &[&str] = &["try", "quick"];
const FIND_SECTIONS: &[&str] = &["find", "quick"];
/// `[target]` sets it for every request.
const HEADER_SECTIONS: &[&str] = &["target", "request", "flow.step"];

impl Key {
    /// All keys. Sections come in the order in which messages name them.
    pub(crate) const ALL: &'static [KeySpec] = table::ALL;

    /// The top-level sections, in the order of the reference page.
    pub(crate) const SECTIONS: [&'static str; 16] = units::texts![
        "target" "data" "request" "flow" "load" "find" "generator" "fleet" "watch" "service" "postgres" "need"
        "variant" "hypothesis" "try" "quick"
    ];

    /// The key of this name in a section, and the shape of its value.
    pub(crate) fn find(section: &str, name: &str) -> Option<(Self, ValueKind)> {
        Self::specs(section).find(|word| word.name == name).map(|word| (word.key, word.kind))
    }

    pub(crate) fn specs(section: &str) -> impl Iterator<Item = &'static KeySpec> + Clone {
        Self::ALL.iter().filter(move |word| word.sections.contains(&section))
    }

    pub(crate) fn names(section: &str) -> impl Iterator<Item = &'static str> + Clone {
        Self::specs(section).map(|word| word.name)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|word| word.key == self).map_or("", |word| word.name)
    }

    /// Whether it describes a request or step.
    pub(crate) fn is_request_key(self) -> bool {
        self.is_in_section("flow.step")
    }

    pub(crate) fn is_in_section(self, section: &str) -> bool {
        Self::specs(section).any(|word| word.key == self)
    }
}

/// As messages refer to a section.
pub(crate) fn bracketed(section: &str) -> String {
    match section {
        "" => "at the top".to_owned(),
        "flow" | "flow.step" | "variant" | "hypothesis" => format!("in [[{section}]]"),
        "data" | "need" => format!("in [{section}.NAME]"),
        _ => format!("in [{section}]"),
    }
}
