//! The part of a page between two marks.

const BEGIN: &str = "<!-- bench:begin -->";
const END: &str = "<!-- bench:end -->";

/// The page with `section` between its marks, instead of what stood there.
///
/// Fails, saying which is wrong, unless the page has each mark once and in this order.
pub fn with_section(page: &str, section: &str) -> Result<String, String> {
    let wrong = || format!("expected one line '{BEGIN}' and below it one line '{END}'");
    let (before, rest) = page.split_once(BEGIN).ok_or_else(wrong)?;
    let (old, after) = rest.split_once(END).ok_or_else(wrong)?;
    if [before, old, after].iter().any(|part| part.contains(BEGIN) || part.contains(END)) {
        return Err(wrong());
    }
    Ok(format!("{before}{BEGIN}\n{}\n{END}{after}", section.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = "# Title\n\n<!-- bench:begin -->\nold\n<!-- bench:end -->\n\nmore\n";
        let new = with_section(page, "new\n").expect("it has its marks");
        assert_eq!(new, "# Title\n\n<!-- bench:begin -->\nnew\n<!-- bench:end -->\n\nmore\n");
        assert_eq!(with_section(&new, "new"), Ok(new.clone()), "writing it again changes nothing");
    }

    #[test]
    fn a_page_without_its_marks_is_left_alone() {
        for page in [
            "",
            BEGIN,
            END,
            &format!("{END}{BEGIN}"),
            &format!("{BEGIN}{BEGIN}{END}"),
            &format!("{BEGIN}{END}{END}"),
        ] {
            assert!(with_section(page, "new").is_err(), "{page}");
        }
    }
}
