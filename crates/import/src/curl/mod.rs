//! A curl command line as requests.

mod operation;
mod options;
mod request;
mod shell;

use crate::document::Document;
use crate::{Error, ImportedPlan};
use operation::Operation;

pub(crate) fn import(command: &str) -> Result<ImportedPlan, Error> {
    if command.contains("curl ^\"") || command.contains("curl.exe ^\"") {
        return Err(Error::new(
            "this was copied for Windows' cmd; expected the form for bash: choose 'Copy as cURL (bash)'",
        ));
    }
    let script = shell::split(command)?;
    let mut document = Document { source: "a curl command", ..Document::default() };
    document.notes = script.notes;
    document.secrets.reserved.clone_from(&script.variables);
    document.placeholders = script.variables;
    let mut operations = Vec::new();
    let mut others = Vec::new();
    for words in &script.commands {
        match curl_index(words) {
            Some(at) => operations.extend(Operation::parse(&words[at + 1..])),
            None => others.push(command_name(words)),
        }
    }
    if operations.is_empty() {
        let found = others.first().map_or("nothing", String::as_str);
        return Err(Error::new(format!(
            "found {found}; expected a curl command, such as: curl 'https://host/path' -H 'Accept: text/html'"
        )));
    }
    for other in others {
        document.notes.push(format!("{other} is not a curl command, and is left out"));
    }
    for operation in operations {
        request::add(operation, &mut document)?;
    }
    Ok(document.finish())
}

/// Index of `curl`: first, or after a prompt, `sudo`, `time` or assignments.
fn curl_index(words: &[Vec<u8>]) -> Option<usize> {
    for (at, word) in words.iter().enumerate() {
        let word = String::from_utf8_lossy(word);
        if matches!(word.rsplit('/').next(), Some("curl" | "curl.exe")) {
            return Some(at);
        }
        let assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if !assignment && !matches!(&*word, "$" | "%" | "sudo" | "time" | "env") {
            return None;
        }
    }
    None
}

/// A command other than curl, for notes.
fn command_name(words: &[Vec<u8>]) -> String {
    format!("'{}'", shell::shortened(&String::from_utf8_lossy(&words.join(&b' '))))
}

#[cfg(test)]
mod tests;
