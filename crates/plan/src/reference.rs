use crate::key::{DefaultValue, Key, KeySpec, ValueKind};

/// The page without its tables of keys.
const PAGE: &str = include_str!("reference.md");

/// All that a plan file may contain, as Markdown. Its tables are generated from the parser's own.
pub fn reference() -> String {
    let mut page = String::with_capacity(2 * PAGE.len());
    for line in PAGE.lines() {
        match line.strip_prefix("{{keys").and_then(|rest| rest.strip_suffix("}}")) {
            Some(section) => page += &table(section.trim()),
            None => page += line,
        }
        page.push('\n');
    }
    page
}

/// The keys of a section.
fn table(section: &str) -> String {
    let rows: Vec<String> = Key::specs(section).map(row).collect();
    format!("| key | is | | left out | example |\n|---|---|---|---|---|\n{}", rows.join("\n"))
}

fn row(spec: &KeySpec) -> String {
    let KeySpec { name, about, example, .. } = spec;
    let left_out = match spec.left_out {
        DefaultValue::Must => "**must be said**".to_owned(),
        DefaultValue::Is(value) => format!("`{}`", quoted(value)),
        DefaultValue::Means(words) => words.to_owned(),
    };
    let example = quoted(&format!("{name} = {example}"));
    let cells = [format!("`{name}`"), spec.kind.name().to_owned(), about.trim().to_owned(), left_out];
    format!("| {} | `{example}` |", cells.join(" | "))
}

/// With the more common kind of quotes, where that changes nothing.
fn quoted(toml: &str) -> String {
    if toml.contains(['"', '\\']) { toml.to_owned() } else { toml.replace('\'', "\"") }
}

impl ValueKind {
    /// The word for it, as the page explains it.
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Quantity(what) => what,
            Self::Flag => "true or false",
            Self::List => "list",
            Self::Words => "words",
            Self::Pairs(_) | Self::Values => "pairs",
        }
    }
}
