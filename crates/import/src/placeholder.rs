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

/// Whether a text is sent as is.
pub(crate) fn is_plain(text: &str) -> bool {
    placeholders(text).is_ok_and(|found| found.is_empty())
}
