//! An operation's body.

use super::sample::Sample;
use super::sampler::Sampler;
use super::spec::Spec;
use crate::document::{Body, Request};
use crate::form;
use serde_json::Value;

/// Gives the request its body and content type.
pub(super) fn add_body(
    spec: &Spec<'_>,
    operation: &Value,
    sampler: &mut Sampler<'_, '_>,
    request: &mut Request,
) {
    let body = match operation.get("requestBody").map(|body| spec.resolve(body)) {
        None => return,
        Some(Ok(body)) => body,
        Some(Err(why)) => return request.note(format!("its body is left out: {why}")),
    };
    let Some(content) = body["content"].as_object().filter(|content| !content.is_empty()) else {
        return request.note("its body is left out: no content is described");
    };
    let is_form = |media: &str| media.starts_with(form::CONTENT_TYPE);
    let best =
        content.keys().find(|media| is_json(media)).or_else(|| content.keys().find(|media| is_form(media)));
    let (media, description) = match best.and_then(|media| content.get_key_value(media)) {
        Some(best) => best,
        None => content.iter().next().expect("it is not empty"),
    };
    let given = sampler.example(description);
    if media.starts_with("multipart/") {
        return request
            .note(format!("its body ({media}) is left out: write it as body_file with its boundary"));
    }
    let can_be_made = is_json(media) || is_form(media) || media.starts_with("text/");
    let made = || sampler.sample(&description["schema"], "body");
    let Some(sample) = given.or_else(|| can_be_made.then(made).flatten()) else {
        return request.note(format!("its body ({media}) is left out: there is no example of it"));
    };
    if is_form(media) {
        let Some(members) = sample.members() else {
            return request.note(format!("its body ({media}) is left out: it is not made of fields"));
        };
        let (fields, wrong): (Vec<_>, Vec<_>) = members
            .iter()
            .map(|(name, value)| (name.clone(), value.plain()))
            .partition(|(name, _)| !name.is_empty() && !name.contains('='));
        if !wrong.is_empty() {
            request.note("fields without a name, or with '=' in it, are left out");
        }
        request.body = Body::Form(fields);
        return;
    }
    let text = match &sample {
        // A text example of a non-JSON type is used as is, and so is JSON written as text.
        Sample::Json(Value::String(text)) if !is_json(media) || text.trim_start().starts_with(['{', '[']) => {
            text.clone()
        }
        sample => sample.json(),
    };
    request.body = Body::Bytes(text.into_bytes());
    let sendable =
        |media: &str| !media.contains('*') && media.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    let media = if sendable(media) { media } else { "text/plain" };
    request.headers.push(("Content-Type".to_owned(), media.to_owned()));
}

pub(super) fn is_json(media: &str) -> bool {
    let media = media.split(';').next().unwrap_or_default().trim();
    media.ends_with("/json") || media.ends_with("+json")
}
