use crate::draft::{Draft, Given, Key, Kind};
use crate::error::{Error, Place, nearest};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Draft {
    /// Reads a plan file. `name` stands in messages.
    ///
    /// # Errors
    /// If it is not TOML, or a key is unknown or of the wrong type. Values are read by [`Draft::check`].
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Error> {
        let mut file = File { name: name.into(), text: text.into(), draft: Self::default() };
        let table = DeTable::parse(text).map_err(|e| {
            let message = e.message().lines().next().unwrap_or("this is not TOML").to_owned();
            Error::at(&file.place(e.span().unwrap_or(0..0)), message)
        })?;
        file.table("", table.into_inner())?;
        Ok(file.draft)
    }
}

struct File {
    name: Arc<str>,
    text: Arc<str>,
    draft: Draft,
}

type Entry<'a> = (Spanned<std::borrow::Cow<'a, str>>, Spanned<DeValue<'a>>);

/// In the order of the file, which the parser does not keep.
fn entries(table: DeTable<'_>) -> Vec<Entry<'_>> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = "";
    Key::ALL.iter().filter_map(move |(_, section, ..)| {
        let new = *section != last;
        last = section;
        new.then_some(*section)
    })
}

impl File {
    fn place(&self, span: Range<usize>) -> Place {
        Place::File { name: Arc::clone(&self.name), text: Arc::clone(&self.text), span }
    }

    fn error(&self, span: Range<usize>, message: String) -> Error {
        Error::at(&self.place(span), message)
    }

    fn table(&mut self, section: &str, table: DeTable<'_>) -> Result<(), Error> {
        for (key, value) in entries(table) {
            let name: &str = key.get_ref();
            let known = Key::ALL.iter().find(|(_, s, n, _)| (*s, *n) == (section, name));
            if let Some((key, _, _, kind)) = known {
                self.value(*key, name, *kind, value)?;
            } else if section.is_empty() && sections().any(|s| s == name) {
                let (span, section) = (value.span(), name.to_owned());
                match value.into_inner() {
                    DeValue::Table(table) => self.table(&section, table)?,
                    other => {
                        let message =
                            format!("'{section}' is {}; expected a section [{section}]", kind_of(&other));
                        return Err(self.error(span, message));
                    }
                }
            } else {
                return Err(self.error(key.span(), unknown(section, name)));
            }
        }
        Ok(())
    }

    fn value(&mut self, key: Key, name: &str, kind: Kind, value: Spanned<DeValue<'_>>) -> Result<(), Error> {
        let span = value.span();
        let found = kind_of(value.get_ref());
        let wrong = |expected: &str| format!("'{name}' is {found}; expected {expected}");
        match (kind, value.into_inner()) {
            (Kind::Flag, DeValue::Boolean(flag)) => self.push(key, flag.to_string(), span),
            (Kind::Flag, _) => return Err(self.error(span, wrong("true or false"))),
            (Kind::Text, DeValue::String(text)) => self.push(key, text.into_owned(), span),
            (Kind::Text, _) => return Err(self.error(span, wrong("text in quotes"))),
            (Kind::Pairs(separator), DeValue::Table(table)) => self.pairs(key, name, separator, table)?,
            (Kind::Pairs(separator), DeValue::Array(items)) => {
                for item in items {
                    let span = item.span();
                    match item.into_inner() {
                        DeValue::String(text) if text.contains(separator) => {
                            self.push(key, text.into_owned(), span);
                        }
                        _ => {
                            let message = format!("each of '{name}' is expected as \"name{separator}value\"");
                            return Err(self.error(span, message));
                        }
                    }
                }
            }
            (Kind::Pairs(_), _) => {
                return Err(self.error(span, wrong("a table such as { name = \"value\" }")));
            }
            (Kind::List, DeValue::Array(items)) => {
                for item in items {
                    let span = item.span();
                    match scalar(item.get_ref()) {
                        Some(text) => self.push(key, text, span),
                        None => {
                            let found = kind_of(item.get_ref());
                            let message = format!("'{name}' holds {found}; expected text or numbers");
                            return Err(self.error(span, message));
                        }
                    }
                }
            }
            (Kind::List | Kind::Quantity, value) => match scalar(&value) {
                Some(text) => self.push(key, text, span),
                None if kind == Kind::List => {
                    return Err(self.error(span, wrong("text, a number, or a list of them")));
                }
                None => return Err(self.error(span, wrong("a number, or text in quotes"))),
            },
        }
        Ok(())
    }

    fn pairs(&mut self, key: Key, name: &str, separator: char, table: DeTable<'_>) -> Result<(), Error> {
        for (entry, value) in entries(table) {
            if entry.get_ref().contains(separator) {
                let message = format!("a name in '{name}' cannot hold '{separator}'");
                return Err(self.error(entry.span(), message));
            }
            let span = entry.span().start..value.span().end;
            // Several headers of one name are an array.
            let values = match value.into_inner() {
                DeValue::Array(items) => items.into_iter().map(Spanned::into_inner).collect(),
                one => vec![one],
            };
            for value in values {
                let Some(text) = scalar(&value) else {
                    let message =
                        format!("'{}' is {}; expected text in quotes", entry.get_ref(), kind_of(&value));
                    return Err(self.error(span, message));
                };
                self.push(key, format!("{}{separator}{text}", entry.get_ref()), span.clone());
            }
        }
        Ok(())
    }

    fn push(&mut self, key: Key, text: String, span: Range<usize>) {
        let place = self.place(span);
        self.draft.push(key, Given { text, place });
    }
}

/// Text as it is, and decimal numbers as they are written.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn unknown(section: &str, name: &str) -> String {
    let names = || Key::ALL.iter().filter(|(_, s, ..)| *s == section).map(|(_, _, n, _)| *n);
    let place = if section.is_empty() { "at the top".to_owned() } else { format!("in [{section}]") };
    let mut message = format!("unknown key '{name}' {place}");
    let elsewhere = Key::ALL.iter().find(|(_, _, n, _)| *n == name).map(|(_, s, ..)| *s);
    if let Some(near) = nearest(name, names().chain(sections().filter(|_| section.is_empty()))) {
        message += &format!("; did you mean '{near}'?");
    } else if let Some(other) = elsewhere {
        let other = if other.is_empty() { "at the top".to_owned() } else { format!("in [{other}]") };
        message += &format!("; it belongs {other}");
    } else {
        let mut known: Vec<String> = names().map(str::to_owned).collect();
        if section.is_empty() {
            known.extend(sections().map(|s| format!("[{s}]")));
        }
        message += &format!("; expected one of: {}", known.join(", "));
    }
    message
}
