use crate::secret;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Collects the values that messages must not quote.
pub(super) fn secrets(table: &DeTable<'_>, text: &str, spans: &mut Vec<Range<usize>>) {
    for (key, value) in table {
        collect_secrets(key.get_ref(), value, text, spans);
    }
}

fn collect_secrets(key: &str, value: &Spanned<DeValue<'_>>, text: &str, spans: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) if secret::is_secret_name(key) => {
            spans.push(value.span());
        }
        DeValue::String(content) => {
            if content.split([':', ' ']).next().is_some_and(secret::is_secret_name) {
                spans.push(value.span());
            } else if matches!(key, "url" | "postgres" | "metrics") || secret::may_hold_secret(content) {
                let start = value.span().start;
                let written = &text[value.span()];
                spans.extend(secret::url_secrets(written).iter().map(|s| start + s.start..start + s.end));
            }
        }
        DeValue::Array(items) => items.iter().for_each(|item| collect_secrets(key, item, text, spans)),
        // An extraction names a value but does not contain it: its name may look like a secret's.
        DeValue::Table(table) if key != "take" => secrets(table, text, spans),
        _ => {}
    }
}
