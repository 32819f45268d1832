//! A value that fits a schema.

use super::sample::Sample;
use super::spec::Spec;
use crate::secret::{Secrets, is_secret};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Deeper values are left out: a recursive schema has no end.
const MAX_DEPTH: usize = 8;
/// Beyond this depth only required members are worth their space.
const MAX_OPTIONAL_DEPTH: usize = 4;
/// Maximum number of values in one body.
const MAX_VALUES: usize = 500;
/// Stands for a text that cannot be known.
pub(super) const UNKNOWN: &str = "CHANGE_ME";

/// Makes samples, and collects notes about them.
pub(super) struct Sampler<'a, 's> {
    spec: &'s Spec<'a>,
    secrets: &'s mut Secrets,
    budget: usize,
    /// References that lead to the value being made.
    references: Vec<String>,
    /// Where [`UNKNOWN`] stands.
    pub unknown: Vec<String>,
    pub notes: BTreeSet<String>,
    /// Placeholders that were inserted.
    pub placeholders: BTreeSet<String>,
}

impl<'a, 's> Sampler<'a, 's> {
    pub(super) fn new(spec: &'s Spec<'a>, secrets: &'s mut Secrets) -> Self {
        Self {
            spec,
            secrets,
            budget: MAX_VALUES,
            references: Vec::new(),
            unknown: Vec::new(),
            notes: BTreeSet::new(),
            placeholders: BTreeSet::new(),
        }
    }

    /// The example beside a schema, as parameters and bodies have it.
    pub(super) fn example(&mut self, holder: &Value) -> Option<Sample> {
        if let Some(example) = holder.get("example") {
            return Some(Sample::Json(example.clone()));
        }
        let first = holder.get("examples")?.as_object()?.values().next()?;
        match self.spec.resolve(first) {
            Ok(example) if example.get("value").is_some() => Some(Sample::Json(example["value"].clone())),
            Ok(example) => {
                let what = example["externalValue"].as_str().unwrap_or("without a value");
                self.notes.insert(format!("its example is not read: {what}"));
                None
            }
            Err(why) => {
                self.notes.insert(format!("its example is left out: {why}"));
                None
            }
        }
    }

    /// A value for a schema, if there is one; `place` is its location in notes.
    pub(super) fn sample(&mut self, schema: &Value, place: &str) -> Option<Sample> {
        self.value(schema, place, 0)
    }

    fn value(&mut self, schema: &Value, place: &str, depth: usize) -> Option<Sample> {
        let Some(reference) = schema["$ref"].as_str() else { return self.generate(schema, place, depth) };
        if self.references.iter().any(|within| within == reference) {
            self.notes.insert(format!("what contains itself is made once: no '{reference}' inside another"));
            return None;
        }
        self.references.push(reference.to_owned());
        let value = self.generate(schema, place, depth);
        self.references.pop();
        value
    }

    fn generate(&mut self, schema: &Value, place: &str, depth: usize) -> Option<Sample> {
        if depth > MAX_DEPTH || self.budget == 0 {
            self.notes.insert(format!(
                "its schema goes deeper: what is below {MAX_DEPTH} levels or beyond {MAX_VALUES} values is left out"
            ));
            return None;
        }
        let schema = match self.resolve_schema(schema, 0) {
            Ok(schema) => schema,
            Err(why) => {
                self.notes.insert(format!("{place} is left out: {why}"));
                return None;
            }
        };
        let given =
            [schema.get("example"), schema["examples"].get(0), schema.get("default"), schema.get("const")];
        if let Some(value) = given.into_iter().flatten().next().or_else(|| schema["enum"].get(0)) {
            return Some(Sample::Json(value.clone()));
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.as_str(),
            Value::Array(kinds) => {
                kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
            }
            _ if schema["properties"].is_object() => "object",
            _ if schema["items"].is_object() => "array",
            _ => "string",
        };
        Some(match kind {
            "object" => self.object(&schema, place, depth),
            "array" => {
                let item =
                    schema.get("items").and_then(|items| self.value(items, &format!("{place}/0"), depth + 1));
                Sample::List(item.into_iter().collect())
            }
            "integer" | "number" => self.number(&schema),
            "boolean" => Sample::Json(Value::Bool(true)),
            "null" => Sample::Json(Value::Null),
            _ => self.text(&schema, place),
        })
    }

    fn object(&mut self, schema: &Value, place: &str, depth: usize) -> Sample {
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut members = Vec::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if property["readOnly"] == true {
                continue;
            }
            if depth >= MAX_OPTIONAL_DEPTH && !required.contains(name.as_str()) {
                self.notes
                    .insert(format!("optional values deeper than {MAX_OPTIONAL_DEPTH} levels are left out"));
                continue;
            }
            let place = format!("{place}/{name}");
            if let Some(value) = self.value(property, &place, depth + 1) {
                members.push((name.clone(), value));
            }
        }
        Sample::Object(members)
    }

    fn number(&mut self, schema: &Value) -> Sample {
        let bound = |name: &str, exclusive: &str, step: i64| {
            let own = schema[name].as_f64();
            // In 3.0 a flag beside the bound, in 3.1 a bound of its own.
            let strict = schema[exclusive].as_f64().or(own.filter(|_| schema[exclusive] == true));
            match (own, strict) {
                (_, Some(strict)) if strict.fract() == 0.0 => Some((strict as i64).saturating_add(step)),
                (_, Some(bound)) | (Some(bound), None) => {
                    Some(if step > 0 { bound.ceil() } else { bound.floor() } as i64)
                }
                (None, None) => None,
            }
        };
        let (least, most) =
            (bound("minimum", "exclusiveMinimum", 1), bound("maximum", "exclusiveMaximum", -1));
        let from = least
            .unwrap_or_else(|| most.map_or(1, |most| if most < 1 { most.saturating_sub(99) } else { 1 }));
        let to = most.unwrap_or_else(|| from.saturating_add(99));
        if let Some(step) = schema["multipleOf"].as_f64().filter(|step| *step > 0.0) {
            let least = schema["minimum"].as_f64().unwrap_or(from as f64);
            let value = (least / step).ceil() * step;
            let whole = value.fract() == 0.0 && value.abs() < 9e15;
            return Sample::Json(if whole { Value::from(value as i64) } else { Value::from(value) });
        }
        if from >= to {
            // There may be no integer between two fractions.
            let given = schema.get("minimum").filter(|_| from > to).cloned();
            return Sample::Json(given.unwrap_or_else(|| Value::from(from)));
        }
        Sample::Number(self.add_placeholder(format!("{{random:{from}..{to}}}")))
    }

    fn text(&mut self, schema: &Value, place: &str) -> Sample {
        let literal = |text: &str| Sample::Json(Value::from(text));
        let name = place.rsplit(['/', ' ']).next().unwrap_or_default();
        match schema["format"].as_str().unwrap_or_default() {
            "uuid" => return Sample::Text(self.add_placeholder("{uuid}".to_owned())),
            "date" => return literal("2026-01-31"),
            "date-time" => return literal("2026-01-31T12:00:00Z"),
            "time" => return literal("12:00:00Z"),
            "email" => {
                self.add_placeholder("{counter}".to_owned());
                return Sample::Text("user{counter}@example.com".to_owned());
            }
            "uri" | "url" | "iri" => return literal("https://example.com/"),
            "hostname" => return literal("example.com"),
            "ipv4" => return literal("192.0.2.1"),
            "ipv6" => return literal("2001:db8::1"),
            "byte" => return literal("dGVzdA=="),
            format if format == "password" || is_secret(name) => {
                return Sample::Text(self.secrets.hide(name, "", &format!("'{name}' of the description")));
            }
            _ => {}
        }
        let length = |name: &str| schema[name].as_u64().map(|n| n as usize);
        // Nobody wants to read longer ones.
        const MAX_TEXT: usize = 256;
        let mut text = UNKNOWN.to_owned();
        text.extend(std::iter::repeat_n(
            'x',
            length("minLength").unwrap_or(0).min(MAX_TEXT).saturating_sub(text.len()),
        ));
        text.truncate(length("maxLength").unwrap_or(usize::MAX));
        let pattern = schema["pattern"].as_str().map(|pattern| format!(" (which must match {pattern})"));
        self.unknown.push(format!("{place}{}", pattern.unwrap_or_default()));
        literal(&text)
    }

    /// Whether a text is a placeholder that was inserted.
    pub(super) fn is_placeholder(&self, text: &str) -> bool {
        self.placeholders.contains(text) || self.secrets.placeholders().any(|secret| secret == text)
    }

    fn add_placeholder(&mut self, placeholder: String) -> String {
        self.placeholders.insert(placeholder.clone());
        placeholder
    }

    /// The schema with its reference resolved, all of `allOf` merged, and one alternative chosen.
    fn resolve_schema<'v>(&mut self, schema: &'v Value, depth: usize) -> Result<Cow<'v, Value>, String>
    where
        'a: 'v,
    {
        if depth > MAX_DEPTH || self.budget == 0 {
            return Err("its schemas are made of each other without end".to_owned());
        }
        self.budget -= 1;
        let schema = self.spec.resolve(schema)?;
        let alternatives = ["oneOf", "anyOf"].into_iter().find_map(|key| schema[key].as_array());
        let all = schema["allOf"].as_array();
        if alternatives.is_none() && all.is_none() {
            return Ok(Cow::Borrowed(schema));
        }
        let mut parts: Vec<&Value> = all.into_iter().flatten().collect();
        if let Some(alternatives) = alternatives {
            let real: Vec<_> = alternatives.iter().filter(|one| one["type"] != "null").collect();
            if real.len() > 1 {
                self.notes
                    .insert(format!("the first of {} alternatives is taken (oneOf, anyOf)", real.len()));
            }
            parts.extend(real.first());
        }
        let mut merged = schema.as_object().cloned().unwrap_or_default();
        merged.retain(|key, _| !matches!(key.as_str(), "allOf" | "oneOf" | "anyOf"));
        for part in parts {
            let part = self.resolve_schema(part, depth + 1)?;
            merge(&mut merged, &part);
        }
        Ok(Cow::Owned(Value::Object(merged)))
    }
}

/// Adds a part of `allOf`; existing values win.
fn merge(whole: &mut Map<String, Value>, part: &Value) {
    for (key, value) in part.as_object().into_iter().flatten() {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    known.entry(name.clone()).or_insert_with(|| property.clone());
                }
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more.iter().cloned());
            }
            (Some(_), _) => {}
            (None, value) => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
