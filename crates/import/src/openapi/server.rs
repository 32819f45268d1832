use super::spec::Spec;
use crate::Error;
use crate::url::ParsedUrl;
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub origin: String,
    /// Precedes each path, without a trailing `/`.
    pub prefix: String,
}

/// Where a service is by default: on this machine, so that no load goes astray.
const DEFAULT_BASE: &str = "http://127.0.0.1:8080";

impl Server {
    /// The given server, or the description's first, with notes on it.
    pub(super) fn first(spec: &Spec<'_>, base: Option<&str>) -> Result<(Self, Vec<String>), Error> {
        if let Some(base) = base {
            return Ok((Self::at(base).map_err(Error::new)?, Vec::new()));
        }
        let servers = spec.root["servers"].as_array().map_or(&[][..], Vec::as_slice);
        let mut notes = Vec::new();
        if let [_, others @ ..] = servers
            && !others.is_empty()
        {
            let others: Vec<_> = others.iter().map(expand_variables).collect();
            notes.push(format!("the first of its servers is used; the others are: {}", others.join(", ")));
        }
        let url = servers.first().map(expand_variables).unwrap_or_default();
        if url.contains("://") {
            match Self::at(&url) {
                Ok(server) => return Ok((server, notes)),
                Err(why) => notes.push(format!("its first server cannot be the target: {why}")),
            }
        }
        let found =
            if url.is_empty() { "it names no server".to_owned() } else { format!("its server is '{url}'") };
        notes.push(format!(
            "the description does not say where the service is ({found}): give --base http://HOST:PORT/, \
             or replace {DEFAULT_BASE}"
        ));
        let prefix = if url.contains("://") { "" } else { url.as_str() };
        let server =
            Self::at(&format!("{DEFAULT_BASE}/{}", prefix.trim_start_matches('/'))).map_err(Error::new)?;
        Ok((server, notes))
    }

    /// The first of a path's or an operation's own servers; a relative one is on the same origin.
    pub(super) fn own(&self, servers: &Value) -> Option<Result<Self, String>> {
        let url = expand_variables(servers.as_array()?.first()?);
        Some(if url.contains("://") {
            Self::at(&url)
        } else {
            Self::at(&format!("{}/{}", self.origin, url.trim_start_matches('/')))
        })
    }

    fn at(url: &str) -> Result<Self, String> {
        let ParsedUrl { origin, path, .. } = ParsedUrl::parse(url)?;
        Ok(Self { origin, prefix: ParsedUrl::route(&path).trim_end_matches('/').to_owned() })
    }
}

/// The URL with its variables' defaults.
fn expand_variables(server: &Value) -> String {
    let mut url = server["url"].as_str().unwrap_or_default().to_owned();
    for (name, variable) in server["variables"].as_object().into_iter().flatten() {
        let value = match &variable["default"] {
            Value::String(value) => value.clone(),
            Value::Null => continue,
            value => value.to_string(),
        };
        url = url.replace(&format!("{{{name}}}"), &value);
    }
    url
}
