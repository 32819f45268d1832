//! Names of functions, as long as there is room for.

/// Longer names are cut in the middle: their beginning says whose they are, their end what they do.
const LONGEST: usize = 72;

/// A name for a table.
pub(crate) fn short(name: &str) -> String {
    cut(name, LONGEST)
}

/// A name of so many letters at most.
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
        assert!(cut.starts_with("begin") && cut.ends_with("end") && cut.chars().count() == LONGEST, "{cut}");
    }
}
