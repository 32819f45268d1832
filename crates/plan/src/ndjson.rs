use crate::error::{Error, nearest};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;

/// The values of one key of an NDJSON file: a JSON object per line; empty lines are skipped. Strings are taken as is,
/// any other value as its JSON text.
pub(crate) fn read_column(name: &str, text: &str, column: &str) -> Result<Vec<String>, Error> {
    let error = |span: Range<usize>, message: &str| Error::in_file(name, text, span, message);
    let (mut values, mut start) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        // Only the first line can begin with a byte order mark.
        let line = line.strip_prefix('\u{feff}').unwrap_or(line).trim();
        if line.is_empty() {
            continue;
        }
        let row: BTreeMap<String, &RawValue> =
            serde_json::from_str(line).map_err(|_| error(span.clone(), "this line is not a JSON object"))?;
        let Some(value) = row.get(column) else {
            let mut message = format!("no '{column}' in this row");
            match nearest(column, row.keys().map(String::as_str)) {
                Some(near) => message += &format!("; did you mean '{near}'?"),
                None => {
                    let keys: Vec<&str> = row.keys().map(String::as_str).collect();
                    message += &format!("; it has: {}", keys.join(", "));
                }
            }
            return Err(error(span, &message));
        };
        values.push(serde_json::from_str(value.get()).unwrap_or_else(|_| value.get().to_owned()));
    }
    if values.is_empty() {
        return Err(error(0..0, "the file is empty; expected a JSON object on each line"));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_key_of_every_row() {
        let text = "\u{feff}{\"id\": 1, \"name\": \"Zo\\u00eb\"}\n\n {\"id\":12345678901234567890.10,\"name\":null}\r\n\
                    {\"name\": {\"a\": [1, \"x\"]}, \"id\": true}";
        assert_eq!(
            read_column("f.jsonl", text, "id").expect("ids"),
            ["1", "12345678901234567890.10", "true"]
        );
        assert_eq!(
            read_column("f.jsonl", text, "name").expect("names"),
            ["Zoë", "null", "{\"a\": [1, \"x\"]}"]
        );
    }

    #[test]
    fn errors_name_file_line_found_and_expected() {
        for (text, expected) in [
            ("", "f.jsonl:1:1: the file is empty; expected a JSON object on each line"),
            ("{\"name\": 1}\n[1]\n", "f.jsonl:2:1: this line is not a JSON object"),
            ("{\"name\": 1}\n{\"name\": \n", "f.jsonl:2:1: this line is not a JSON object"),
            ("{\"nam\": 1}", "f.jsonl:1:1: no 'name' in this row; did you mean 'nam'?"),
            ("{\"x\": 1, \"y\": 2}", "f.jsonl:1:1: no 'name' in this row; it has: x, y"),
        ] {
            let error = read_column("f.jsonl", text, "name").expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
