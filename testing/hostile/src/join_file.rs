use link::JoinFile;

/// A valid join file is unchanged when written and parsed again, but for blanks around its content.
pub fn join(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = text.parse::<JoinFile>() else { return };
    let again: JoinFile = file.to_text().parse().expect("it was just written");
    assert_eq!(again, file);
    assert!(!format!("{file:?}").contains("PRIVATE KEY"), "its key is shown");
}
