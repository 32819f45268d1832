//! Parameters in the path, the query, headers and cookies.

use super::sample::Sample;
use super::sampler::{Sampler, UNKNOWN};
use super::spec::Spec;
use crate::document::Request;
use crate::encode;
use plan::is_token;
use serde_json::Value;

/// Parameters of the path and of the operation, by `in` and `name`; the operation's win.
pub(super) fn collect<'a>(
    spec: &Spec<'a>,
    item: &'a Value,
    operation: &'a Value,
    notes: &mut Vec<String>,
) -> Vec<&'a Value> {
    let mut parameters: Vec<&Value> = Vec::new();
    for list in [&item["parameters"], &operation["parameters"]] {
        for parameter in list.as_array().into_iter().flatten() {
            match spec.resolve(parameter) {
                Ok(parameter) => {
                    parameters
                        .retain(|known| known["name"] != parameter["name"] || known["in"] != parameter["in"]);
                    parameters.push(parameter);
                }
                Err(why) => notes.push(format!("a parameter is left out: {why}")),
            }
        }
    }
    parameters
}

/// Fills the parameters into the request, whose URL is still the path's template.
pub(super) fn add_parameters(parameters: &[&Value], sampler: &mut Sampler<'_, '_>, request: &mut Request) {
    let (mut query, mut cookies, mut optional) = (Vec::new(), Vec::new(), Vec::new());
    for parameter in parameters {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        if place != "path" && parameter["required"] != true {
            optional.push(format!("{name} ({place})"));
            continue;
        }
        let Some(sample) = value(parameter, sampler, &format!("{place} parameter {name}")) else {
            request.note(format!("the {place} parameter '{name}' is left out: there is no value for it"));
            continue;
        };
        match place {
            "path" => {
                if matches!(parameter["style"].as_str(), Some("label" | "matrix")) {
                    request.note(format!("the style of the path parameter '{name}' is not carried over"));
                }
                let part = format!("{{{}}}", encode::visible(name.as_bytes()));
                request.url = request.url.replace(&part, &sample.component());
            }
            "query" => query.extend(encode_query(name, parameter, &sample)),
            "header"
                if matches!(
                    name.to_ascii_lowercase().as_str(),
                    "accept" | "content-type" | "authorization"
                ) => {}
            "header" if is_token(name) => {
                let value: String =
                    sample.plain().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
                request.headers.push((name.to_owned(), value));
            }
            "cookie" => cookies.push(format!("{name}={}", sample.component())),
            _ => request.note(format!(
                "the parameter '{name}' in '{place}' is left out: such parameters are unknown"
            )),
        }
    }
    fill_undescribed(request, sampler);
    if !query.is_empty() {
        let mark = if request.url.contains('?') { '&' } else { '?' };
        request.url += &format!("{mark}{}", query.join("&"));
    }
    if !cookies.is_empty() {
        request.headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    if !optional.is_empty() {
        request.note(format!("optional parameters are left out: {}", optional.join(", ")));
    }
}

/// Fills parts of the path that no parameter describes.
fn fill_undescribed(request: &mut Request, sampler: &mut Sampler<'_, '_>) {
    let (mut out, mut rest) = (String::new(), request.url.as_str());
    while let Some(at) = rest.find('{')
        && let Some(end) = rest[at..].find('}').map(|end| at + end + 1)
    {
        out.push_str(&rest[..at]);
        let part = &rest[at..end];
        if sampler.is_placeholder(part) {
            out.push_str(part);
        } else {
            sampler
                .unknown
                .push(format!("path parameter {}, which is not described", &part[1..part.len() - 1]));
            out.push_str(UNKNOWN);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    request.url = out;
}

fn value(parameter: &Value, sampler: &mut Sampler<'_, '_>, place: &str) -> Option<Sample> {
    if let Some(example) = sampler.example(parameter) {
        return Some(example);
    }
    if let Some(schema) = parameter.get("schema") {
        return sampler.sample(schema, place);
    }
    // Or JSON inside a parameter.
    let media = parameter["content"].as_object()?.values().next()?;
    let sample = sampler.example(media).or_else(|| sampler.sample(&media["schema"], place))?;
    Some(Sample::Text(match sample {
        Sample::Json(value) => encode::component(value.to_string().as_bytes()),
        other => other.json(),
    }))
}

/// By the styles `form`, with and without `explode`, `deepObject`, and those with other delimiters.
fn encode_query(name: &str, parameter: &Value, sample: &Sample) -> Vec<String> {
    let key = encode::component(name.as_bytes());
    let style = parameter["style"].as_str().unwrap_or("form");
    let explode = parameter["explode"].as_bool().unwrap_or(style == "form");
    let deep = style == "deepObject";
    if let Some(items) = sample.items().filter(|_| explode) {
        return items.iter().map(|item| format!("{key}={}", item.component())).collect();
    }
    if let Some(members) = sample.members().filter(|_| explode || deep) {
        let name = |member: &str| {
            let member = encode::component(member.as_bytes());
            if deep { format!("{key}[{member}]") } else { member }
        };
        return members
            .iter()
            .map(|(member, value)| format!("{}={}", name(member), value.component()))
            .collect();
    }
    let delimiter = match style {
        "spaceDelimited" => "%20",
        "pipeDelimited" => "%7C",
        _ => ",",
    };
    let value = match sample.items() {
        Some(items) => items.iter().map(Sample::component).collect::<Vec<_>>().join(delimiter),
        None => sample.component(),
    };
    vec![format!("{key}={value}")]
}
