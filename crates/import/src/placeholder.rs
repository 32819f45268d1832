//! Text that torment would take for a placeholder.

use plan::{Template, TemplatePiece};

/// The placeholders in a text, as written.
///
/// # Errors
/// If something begins like a placeholder but is not one: a plan with it is refused.
pub(crate) fn placeholders(text: &str) -> Result<Vec<String>, String> {
    let template = Template::parse(text).map_err(|e| e.to_string())?;
    let varying = template.pieces.iter().filter(|piece| !matches!(piece, TemplatePiece::Literal(_)));
    Ok(varying.map(ToString::to_string).collect())
}

/// The first of `name`, `name_2`, `name_3`, … that is free.
pub(crate) fn free_name(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| is_free(name)).expect("numbers do not end")
}

/// Whether a text is sent as is.
pub(crate) fn is_plain(text: &str) -> bool {
    placeholders(text).is_ok_and(|found| found.is_empty())
}
