use crate::Error;
use serde_json::{Map, Value};

/// A longer chain of references is treated as a cycle.
const MAX_CHAIN: usize = 32;
/// Maximum number of values in a description; GitHub's, one of the largest, has about a million. The parser itself
/// limits alias expansion more strictly.
const MAX_VALUES: usize = 20_000_000;

/// A description whose references can be resolved.
pub(super) struct Spec<'a> {
    pub root: &'a Value,
}

/// Parses JSON, or else YAML.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    const EXPECTED: &str = "expected an OpenAPI 3 description in JSON or YAML";
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|e| Error::new(format!("{e}; {EXPECTED}")));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: MAX_VALUES, max_events: MAX_VALUES },
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| {
        let message = e.to_string();
        let first = message.lines().next().unwrap_or_default();
        Error::new(format!("{}; {EXPECTED}", first.trim_start_matches("error: ")))
    })
}

impl<'a> Spec<'a> {
    pub(super) fn new(root: &'a Value) -> Result<Self, Error> {
        let version = match &root["openapi"] {
            Value::String(version) => version.clone(),
            // YAML parses 3.0 as a number.
            Value::Number(version) => version.to_string(),
            _ if !root["swagger"].is_null() => {
                return Err(Error::new(
                    "this is Swagger 2; expected OpenAPI 3: convert it, for example with swagger2openapi",
                ));
            }
            _ => {
                return Err(Error::new("it has no 'openapi: 3.…'; expected an OpenAPI 3 description"));
            }
        };
        if version != "3" && !version.starts_with("3.") {
            return Err(Error::new(format!("this is OpenAPI {version}; expected OpenAPI 3.0 or 3.1")));
        }
        Ok(Self { root })
    }

    /// Which parts of the description are not carried over.
    pub(super) fn notes(&self) -> Vec<String> {
        let webhooks: Vec<&str> =
            self.root["webhooks"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
        if webhooks.is_empty() {
            return Vec::new();
        }
        let webhooks = webhooks.join(", ");
        vec![format!("webhooks are not carried over, since torment answers no requests: {webhooks}")]
    }

    /// The value itself, or what its `$ref` points to.
    ///
    /// # Errors
    /// If it points outside the description, nowhere, or in a cycle.
    pub(super) fn resolve<'v>(&self, mut value: &'v Value) -> Result<&'v Value, String>
    where
        'a: 'v,
    {
        for _ in 0..MAX_CHAIN {
            let Some(reference) = value["$ref"].as_str() else { return Ok(value) };
            let Some(pointer) = reference.strip_prefix('#') else {
                return Err(format!(
                    "'{reference}' is in another file, which is not read: bundle them into one"
                ));
            };
            let decoded = crate::encode::decode(&pointer.replace('+', "%2B"));
            let found = self.root.pointer(&decoded);
            value = found.ok_or_else(|| format!("'{reference}' is not in the description"))?;
        }
        Err("its references form a circle".to_owned())
    }
}
