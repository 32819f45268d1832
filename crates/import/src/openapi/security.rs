//! Authentication.

use super::spec::Spec;
use crate::document::{Auth, Request};
use crate::encode;
use crate::secret::Secrets;
use plan::is_token;
use serde_json::Value;

/// Gives the request the credentials that its first security alternative demands.
pub(super) fn add_security(spec: &Spec<'_>, operation: &Value, secrets: &mut Secrets, request: &mut Request) {
    let demanded = operation.get("security").unwrap_or(&spec.root["security"]);
    let alternatives = demanded.as_array().map_or(&[][..], Vec::as_slice);
    let Some(first) = alternatives.first().and_then(Value::as_object) else { return };
    if alternatives.len() > 1 {
        let names =
            |one: &Value| one.as_object().map(|one| one.keys().cloned().collect::<Vec<_>>().join(" and "));
        let others: Vec<_> = alternatives[1..]
            .iter()
            .filter_map(names)
            .map(|name| if name.is_empty() { "none".to_owned() } else { name })
            .collect();
        request.comments.push(format!("These would do instead of the first security: {}", others.join(", ")));
    }
    for name in first.keys() {
        let described = spec.root["components"]["securitySchemes"].get(name);
        let scheme =
            described.ok_or_else(|| "it is not described".to_owned()).and_then(|scheme| spec.resolve(scheme));
        if let Err(why) = scheme.and_then(|scheme| add_scheme(name, scheme, secrets, request)) {
            request.note(format!("the security '{name}' is not carried over: {why}"));
        }
    }
}

fn add_scheme(
    name: &str,
    scheme: &Value,
    secrets: &mut Secrets,
    request: &mut Request,
) -> Result<(), String> {
    let text = |key: &str| scheme[key].as_str().unwrap_or_default();
    match (text("type"), text("scheme").to_ascii_lowercase().as_str(), text("in")) {
        ("http", "basic", _) => {
            let password = secrets.hide("PASSWORD", "", &format!("the password for '{name}'"));
            request.auth = Some(Auth::Basic(format!("CHANGE_ME:{password}")));
            request.note("the user name for basic authorization is unknown: CHANGE_ME stands in for it");
        }
        ("http", "bearer", _) | ("oauth2" | "openIdConnect", ..) => {
            let token = secrets.hide("TOKEN", "", &format!("the bearer token for '{name}'"));
            request.auth = Some(Auth::Bearer(token));
        }
        ("apiKey", _, place @ ("header" | "query" | "cookie")) => {
            let key = text("name");
            let value = secrets.hide(key, "", &format!("the key for '{name}'"));
            match place {
                "query" => {
                    let mark = if request.url.contains('?') { '&' } else { '?' };
                    request.url += &format!("{mark}{}={value}", encode::component(key.as_bytes()));
                }
                "header" if is_token(key) => request.headers.push((key.to_owned(), value)),
                "cookie" if is_token(key) => add_cookie(request, format!("{key}={value}")),
                _ => return Err(format!("'{key}' is not the name of a {place}")),
            }
        }
        ("http", other, _) => {
            return Err(format!("torment knows basic and bearer authorization, not '{other}'"));
        }
        ("mutualTLS", ..) => return Err("torment presents no certificate of its own".to_owned()),
        (other, ..) => return Err(format!("its type '{other}' is not known")),
    }
    Ok(())
}

fn add_cookie(request: &mut Request, cookie: String) {
    match request.headers.iter_mut().find(|(name, _)| name == "Cookie") {
        Some((_, value)) => *value += &format!("; {cookie}"),
        None => request.headers.push(("Cookie".to_owned(), cookie)),
    }
}
