mod masking;

use crate::draft::{DependencyDraft, Draft, FlowDraft, Section, SourceText};
use crate::error::{Error, SourceLocation, nearest};
use crate::key::{Key, ValueKind, bracketed};
use crate::secret;
use crate::shell_words::split_words;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Draft {
    /// Parses a plan file. `name` is used in messages.
    ///
    /// # Errors
    /// If it is not TOML, or a key is unknown or of the wrong type. Values are parsed by [`Draft::check`].
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Error> {
        let table = DeTable::parse(text).map_err(|e| {
            let message = e.message().lines().next().unwrap_or("this is not TOML");
            Error::in_file(name, &secret::masked_lines(text), e.span().unwrap_or(0..0), message)
        })?;
        let mut spans = Vec::new();
        masking::secrets(table.get_ref(), text, &mut spans);
        let masked = secret::masked(text, &spans).into();
        let mut file = FileParser { name: name.into(), masked, draft: Self::default() };
        file.top(table.into_inner())?;
        Ok(file.draft)
    }
}

struct FileParser {
    name: Arc<str>,
    /// What messages quote: the text with its secrets masked, of the same length.
    masked: Arc<str>,
    draft: Draft,
}

/// A value and where it stands.
type SpannedText = (String, Range<usize>);
type Entry<'a> = (Spanned<std::borrow::Cow<'a, str>>, Spanned<DeValue<'a>>);

/// In the order of the file, which the parser does not preserve.
fn entries(table: DeTable<'_>) -> Vec<Entry<'_>> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

impl FileParser {
    fn location(&self, span: Range<usize>) -> SourceLocation {
        SourceLocation::File { name: Arc::clone(&self.name), text: Arc::clone(&self.masked), span }
    }

    fn error(&self, span: Range<usize>, message: String) -> Error {
        Error::at(&self.location(span), message)
    }

    fn top(&mut self, table: DeTable<'_>) -> Result<(), Error> {
        let mut top = Section::default();
        for (key, value) in entries(table) {
            let (name, at) = (key.get_ref().as_ref(), key.span());
            match (Key::find("", name), name) {
                (Some((key, kind)), _) => self.add(&mut top, key, name, kind, value)?,
                (None, "request" | "flow" | "variant" | "hypothesis") => {
                    for (span, mut table) in self.tables(name, value)? {
                        let steps = if name == "flow" { self.steps(&mut table)? } else { Vec::new() };
                        let section = self.section(name, span, table)?;
                        match name {
                            "request" => self.draft.flows.push(FlowDraft::Request(section)),
                            "flow" => self.draft.flows.push(FlowDraft::Flow(section, steps)),
                            "variant" => self.draft.variants.push(section),
                            _ => self.draft.hypotheses.push(section),
                        }
                    }
                }
                (None, "data" | "need") => {
                    let title = format!("{name}.NAME");
                    for (key, value) in entries(self.one_table(&title, value)?) {
                        let section = self.section(name, key.span(), self.one_table(&title, value)?)?;
                        let given = SourceText {
                            text: key.get_ref().to_string(),
                            location: self.location(key.span()),
                        };
                        match name {
                            "data" => self.draft.data.push((given, section)),
                            _ => self.draft.needs.push(DependencyDraft::Program(given, section)),
                        }
                    }
                }
                (None, _) if Key::SECTIONS.contains(&name) => {
                    let section = self.section(name, at, self.one_table(name, value)?)?;
                    match name {
                        "service" => self.draft.service = Some(section),
                        "postgres" => self.draft.needs.push(DependencyDraft::Postgres(section)),
                        "try" => self.draft.experiment = section,
                        "quick" => self.draft.quick = Some(section),
                        _ => top.values.extend(section.values),
                    }
                }
                (None, _) => return Err(self.error(at, unknown("", name))),
            }
        }
        self.draft.needs.sort_by_key(|need| need.section().start());
        self.draft.flows.sort_by_key(|flow| flow.whole().start());
        self.draft.top = top;
        Ok(())
    }

    fn steps(&self, flow: &mut DeTable<'_>) -> Result<Vec<Section>, Error> {
        let Some(value) = flow.remove("step") else { return Ok(Vec::new()) };
        let steps = self.tables("flow.step", value)?.into_iter();
        steps.map(|(span, table)| self.section("flow.step", span, table)).collect()
    }

    /// A table, or an array of them, in the order of the file.
    fn tables<'a>(
        &self,
        section: &str,
        value: Spanned<DeValue<'a>>,
    ) -> Result<Vec<(Range<usize>, DeTable<'a>)>, Error> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => {
                items.into_iter().map(|item| Ok((item.span(), self.one_table(section, item)?))).collect()
            }
            other => Ok(vec![(span.clone(), self.one_table(section, Spanned::new(span, other))?)]),
        }
    }

    fn one_table<'a>(&self, section: &str, value: Spanned<DeValue<'a>>) -> Result<DeTable<'a>, Error> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok(table),
            other => {
                let name = section.split('.').next().unwrap_or(section);
                let is_one_of_several = matches!(name, "flow" | "variant" | "hypothesis");
                let section =
                    if is_one_of_several { format!("[[{section}]]") } else { format!("[{section}]") };
                let message = format!("'{name}' is {}; expected a section {section}", kind_of(&other));
                Err(self.error(span, message))
            }
        }
    }

    /// `at` is where messages about the whole section point.
    fn section(&self, section: &str, at: Range<usize>, table: DeTable<'_>) -> Result<Section, Error> {
        let mut parsed = Section { location: Some(self.location(at)), ..Section::default() };
        for (key, value) in entries(table) {
            let name: &str = key.get_ref();
            let (known, kind) =
                Key::find(section, name).ok_or_else(|| self.error(key.span(), unknown(section, name)))?;
            self.add(&mut parsed, known, name, kind, value)?;
        }
        Ok(parsed)
    }

    /// Adds a key's values; an empty list is recorded too.
    fn add(
        &self,
        section: &mut Section,
        key: Key,
        name: &str,
        kind: ValueKind,
        value: Spanned<DeValue<'_>>,
    ) -> Result<(), Error> {
        let texts = self.texts(name, kind, value)?.into_iter();
        let given = texts.map(|(text, span)| SourceText { text, location: self.location(span) });
        section.values.entry(key).or_default().extend(given);
        Ok(())
    }

    fn texts(
        &self,
        name: &str,
        kind: ValueKind,
        value: Spanned<DeValue<'_>>,
    ) -> Result<Vec<SpannedText>, Error> {
        let span = value.span();
        let found = kind_of(value.get_ref());
        let wrong =
            |expected: &str| self.error(span.clone(), format!("'{name}' is {found}; expected {expected}"));
        let texts = match (kind, value.into_inner()) {
            (ValueKind::Flag, DeValue::Boolean(flag)) => vec![flag.to_string()],
            (ValueKind::Flag, _) => return Err(wrong("true or false")),
            (ValueKind::Text, DeValue::String(text)) => vec![text.into_owned()],
            (ValueKind::Text, _) => return Err(wrong("text in quotes")),
            (ValueKind::Words, DeValue::String(text)) => {
                split_words(&text).map_err(|e| self.error(span.clone(), e.to_owned()))?
            }
            (ValueKind::List | ValueKind::Words, DeValue::Array(items)) => {
                let text = |item: Spanned<DeValue<'_>>| {
                    let found = kind_of(item.get_ref());
                    let wrong = || format!("'{name}' holds {found}; expected text or numbers");
                    let text = scalar(item.get_ref()).ok_or_else(|| self.error(item.span(), wrong()))?;
                    Ok((text, item.span()))
                };
                return items.into_iter().map(text).collect();
            }
            (ValueKind::Words, _) => return Err(wrong("a list of words, or text in quotes")),
            (ValueKind::List, value) => {
                vec![scalar(&value).ok_or_else(|| wrong("text, a number, or a list of them"))?]
            }
            (ValueKind::Quantity(_), value) => {
                vec![scalar(&value).ok_or_else(|| wrong("a number, or text in quotes"))?]
            }
            (ValueKind::Pairs(separator), DeValue::Table(table)) => {
                return self.pairs(name, separator, false, table);
            }
            (ValueKind::Values, DeValue::Table(table)) => return self.pairs(name, '=', true, table),
            (ValueKind::Pairs(_) | ValueKind::Values, DeValue::Array(items)) => {
                let separator = if let ValueKind::Pairs(separator) = kind { separator } else { '=' };
                let pair = |item: Spanned<DeValue<'_>>| match item.get_ref() {
                    DeValue::String(text) if text.contains(separator) => Ok((text.to_string(), item.span())),
                    _ => {
                        let message = format!("each of '{name}' is expected as \"name{separator}value\"");
                        Err(self.error(item.span(), message))
                    }
                };
                return items.into_iter().map(pair).collect();
            }
            (ValueKind::Pairs(_) | ValueKind::Values, _) => {
                return Err(wrong("a table such as { name = \"value\" }"));
            }
        };
        Ok(texts.into_iter().map(|text| (text, span.clone())).collect())
    }

    /// `flags` allows booleans as values.
    fn pairs(
        &self,
        name: &str,
        separator: char,
        flags: bool,
        table: DeTable<'_>,
    ) -> Result<Vec<SpannedText>, Error> {
        let mut pairs = Vec::new();
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
                let text = match value {
                    DeValue::Boolean(flag) if flags => Some(flag.to_string()),
                    ref other => scalar(other),
                };
                let wrong =
                    || format!("'{}' is {}; expected text in quotes", entry.get_ref(), kind_of(&value));
                let text = text.ok_or_else(|| self.error(span.clone(), wrong()))?;
                pairs.push((format!("{}{separator}{text}", entry.get_ref()), span.clone()));
            }
        }
        Ok(pairs)
    }
}

/// Text as is, and decimal numbers as written.
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
    let inner = match section {
        "" => &Key::SECTIONS[..],
        "flow" => &["step"],
        _ => &[],
    };
    let mut message = format!("unknown key '{name}' {}", bracketed(section));
    let elsewhere = Key::ALL
        .iter()
        .filter(|word| word.name == name)
        .flat_map(|word| word.sections)
        .filter(|section| **section != "quick");
    let elsewhere: Vec<String> = elsewhere.map(|section| bracketed(section)).collect();
    if let Some(near) = nearest(name, Key::names(section).chain(inner.iter().copied())) {
        message += &format!("; did you mean '{near}'?");
    } else if !elsewhere.is_empty() {
        message += &format!("; it belongs {}", elsewhere.join(" or "));
    } else {
        let mut known: Vec<String> = Key::names(section).map(str::to_owned).collect();
        known.extend(
            inner.iter().map(|s| if *s == "step" { "[[flow.step]]".to_owned() } else { format!("[{s}]") }),
        );
        message += &format!("; expected one of: {}", known.join(", "));
    }
    message
}
