use link::JoinFile;

/// A file that is taken lets in where it says, and is written as it was read, but for blanks around what it says.
pub fn join(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(file) = text.parse::<JoinFile>() else { return };
    let again: JoinFile = file.to_text().parse().expect("it was just written");
    assert_eq!(again, file);
    assert!(!format!("{file:?}").contains("PRIVATE KEY"), "its key is shown");
}
