use crate::encode;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sample {
    Json(Value),
    /// A placeholder that yields a number.
    Number(String),
    /// Text with placeholders.
    Text(String),
    List(Vec<Sample>),
    Object(Vec<(String, Sample)>),
}

impl Sample {
    /// As JSON; placeholders for numbers are unquoted.
    pub(super) fn json(&self) -> String {
        match self {
            Self::Json(value) => value.to_string(),
            Self::Number(placeholder) => placeholder.clone(),
            Self::Text(text) => Value::from(text.as_str()).to_string(),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(Self::json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), value.json()))
                    .collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// As the text of a header or form field. Lists are joined by commas.
    pub(super) fn plain(&self) -> String {
        match self {
            Self::Json(Value::String(text)) | Self::Number(text) | Self::Text(text) => text.clone(),
            Self::Json(Value::Array(items)) => {
                let items: Vec<_> = items.iter().map(|item| Self::Json(item.clone()).plain()).collect();
                items.join(",")
            }
            Self::List(items) => items.iter().map(Self::plain).collect::<Vec<_>>().join(","),
            other => other.json(),
        }
    }

    /// As part of a URL: escaped, except for placeholders.
    pub(super) fn component(&self) -> String {
        match self {
            Self::Number(text) | Self::Text(text) => text.clone(),
            other => match other.items() {
                Some(items) => items.iter().map(Self::component).collect::<Vec<_>>().join(","),
                None => encode::component(other.plain().as_bytes()),
            },
        }
    }

    pub(super) fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::Json(Value::Array(items)) => {
                Some(items.iter().map(|item| Self::Json(item.clone())).collect())
            }
            Self::List(items) => Some(items.clone()),
            _ => None,
        }
    }

    pub(super) fn members(&self) -> Option<Vec<(String, Self)>> {
        match self {
            Self::Json(Value::Object(members)) => {
                Some(members.iter().map(|(name, value)| (name.clone(), Self::Json(value.clone()))).collect())
            }
            Self::Object(members) => Some(members.clone()),
            _ => None,
        }
    }
}
