//! Function names, shortened to fit.

/// Longer names are cut in the middle: the beginning tells whose they are, the end what they do.
const MAX_LEN: usize = 72;

/// Shortens a name for a table.
pub(crate) fn short(name: &str) -> String {
    cut(name, MAX_LEN)
}

/// Shortens a name to at most `longest` characters.
pub(crate) fn cut(name: &str, longest: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= longest {
        return name.to_owned();
    }
    let half = longest / 2;
    letters[..half - 1].iter().chain(&['…']).chain(&letters[letters.len() - half..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        let name = format!("begin{}end", "x".repeat(500));
        let cut = short(&name);
        assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.chars().count() == MAX_LEN, "{cut}");
    }
}
