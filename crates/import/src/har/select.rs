//! Which of the recorded requests become steps.

use super::recording::Exchange;
use crate::url::ParsedUrl;
use crate::{Error, HarOptions};
use std::collections::BTreeMap;

/// The requests of one origin, and what was left out.
pub(super) struct Selection {
    pub origin: String,
    pub requests: Vec<SelectedRequest>,
    pub notes: Vec<String>,
}

/// One request that becomes a step, and what was left out just before it.
pub(super) struct SelectedRequest {
    pub exchange: Exchange,
    pub omissions: Vec<String>,
}

/// Keeps what a load can repeat.
pub(super) fn select(exchanges: Vec<Exchange>, options: &HarOptions) -> Result<Selection, Error> {
    let origin = origin(&exchanges, options)?;
    let (mut others, mut assets) = (BTreeMap::<String, u32>::new(), BTreeMap::<&str, u32>::new());
    let (mut cached, mut requests, mut omissions) = (0_u32, Vec::new(), Vec::new());
    for exchange in exchanges {
        let from = exchange.address.as_ref().map(|address| address.origin.clone());
        if let Some(other) = from.as_ref().filter(|from| **from != origin) {
            *others.entry(other.clone()).or_default() += 1;
            continue;
        }
        let asset = asset(&exchange);
        if let Some(why) = not_repeatable(&exchange) {
            omissions.push(format!("{} {} is left out: {why}", exchange.method, shown(&exchange.url)));
        } else if exchange.from_cache {
            cached += 1;
        } else if let Some(asset) = asset.filter(|_| !options.include_assets) {
            *assets.entry(asset).or_default() += 1;
        } else {
            requests.push(SelectedRequest { exchange, omissions: std::mem::take(&mut omissions) });
        }
    }
    if requests.is_empty() {
        return Err(Error::new(format!(
            "the recording has no request to {origin} that can be repeated; expected at least one that is \
             neither an asset nor from the cache (or ask for the assets, too)"
        )));
    }
    let mut notes = Vec::new();
    if !others.is_empty() {
        let list: Vec<_> = others.iter().map(|(origin, n)| format!("{origin} ({n})")).collect();
        notes.push(format!(
            "requests to other origins are left out, a plan has one target: {}",
            list.join(", ")
        ));
    }
    if !assets.is_empty() {
        let list: Vec<_> = assets.iter().map(|(kind, n)| format!("{kind} ({n})")).collect();
        notes.push(format!("static assets are left out: {}", list.join(", ")));
    }
    if cached > 0 {
        notes.push(format!("what the browser answered from its cache is left out: {cached} requests"));
    }
    notes.extend(omissions.into_iter().map(|what| format!("at the end, {what}")));
    Ok(Selection { origin, requests, notes })
}

/// The given origin or, of the first page's site, the one with the most requests. A newspaper's page asks the same
/// advertiser more often than the newspaper; but a service may well be beside its page, as `api.shop.example` is
/// beside `www.shop.example`.
fn origin(exchanges: &[Exchange], options: &HarOptions) -> Result<String, Error> {
    let candidates =
        exchanges.iter().filter(|exchange| not_repeatable(exchange).is_none() && !exchange.from_cache);
    let mut counts: Vec<(String, u32, bool)> = Vec::new();
    for exchange in candidates {
        let Some(ParsedUrl { origin, .. }) = &exchange.address else { continue };
        let weight = u32::from(options.include_assets || asset(exchange).is_none());
        match counts.iter_mut().find(|(known, ..)| known == origin) {
            Some((_, count, _)) => *count += weight,
            None => {
                let first_document = is_document(exchange) && !counts.iter().any(|(.., document)| *document);
                counts.push((origin.clone(), weight, first_document));
            }
        }
    }
    if let Some(wanted) = &options.origin {
        let wanted = ParsedUrl::parse(wanted).map_err(Error::new)?.origin;
        if counts.iter().any(|(origin, ..)| *origin == wanted) {
            return Ok(wanted);
        }
        let known: Vec<_> = counts.into_iter().map(|(origin, ..)| origin).collect();
        return Err(Error::new(format!(
            "the recording has no request to {wanted}; expected one of: {}",
            known.join(", ")
        )));
    }
    let first = counts.iter().find(|(.., document)| *document).map(|(origin, ..)| site(origin).to_owned());
    let related = |origin: &str| first.as_deref().is_none_or(|first| site(origin) == first);
    // `max` returns the last of equals, so the first shall come last.
    let candidates = counts.iter().rev().filter(|(origin, ..)| related(origin));
    let most = candidates.max_by_key(|(_, count, document)| (*count, *document));
    most.map(|(origin, ..)| origin.clone()).ok_or_else(|| {
        Error::new("the recording has no request to an http:// or https:// URL that was answered")
    })
}

/// The last two labels of a host's name; all of an address or of a name without dots. No public suffix list: an
/// origin wrongly taken for related must still have the most requests.
fn site(origin: &str) -> &str {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    };
    let is_address = host.starts_with('[') || host.ends_with(|c: char| c.is_ascii_digit());
    let dots = host.rmatch_indices('.').nth(1);
    dots.filter(|_| !is_address).map_or(host, |(at, _)| &host[at + 1..])
}

fn is_document(exchange: &Exchange) -> bool {
    exchange.kind == "document" || exchange.media == "text/html"
}

/// Why an exchange cannot be repeated by requesting its URL.
fn not_repeatable(exchange: &Exchange) -> Option<&'static str> {
    if exchange.kind == "websocket" || exchange.status == Some(101) || exchange.url.starts_with("ws") {
        Some("torment does not speak WebSocket")
    } else if exchange.address.is_none() {
        Some("this is not an http:// or https:// URL")
    } else if exchange.kind == "eventsource" || exchange.media == "text/event-stream" {
        Some("a stream of events has no end to wait for")
    } else if exchange.status == Some(0) && !exchange.from_cache {
        Some("it had no answer when it was recorded")
    } else if !plan::is_token(&exchange.method) || exchange.method == "CONNECT" {
        Some("its method cannot be sent")
    } else {
        None
    }
}

/// The kind of static asset, if it is one.
fn asset(exchange: &Exchange) -> Option<&'static str> {
    if exchange.method != "GET" {
        return None;
    }
    match exchange.kind.as_str() {
        "document" | "xhr" | "fetch" => return None,
        "image" => return Some("images"),
        "stylesheet" => return Some("style sheets"),
        "script" => return Some("scripts"),
        "font" => return Some("fonts"),
        "media" | "texttrack" => return Some("media"),
        "manifest" => return Some("manifests"),
        _ => {}
    }
    match exchange.media.as_str() {
        "text/css" => return Some("style sheets"),
        "text/javascript" | "application/javascript" | "application/x-javascript" | "application/wasm" => {
            return Some("scripts");
        }
        "text/html" | "application/json" => return None,
        media if media.starts_with("image/") => return Some("images"),
        media if media.starts_with("font/") || media.contains("font-") => return Some("fonts"),
        media if media.starts_with("audio/") || media.starts_with("video/") => return Some("media"),
        _ => {}
    }
    let route = exchange.address.as_ref().map(|address| ParsedUrl::route(&address.path))?;
    match route.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "css" => Some("style sheets"),
        "js" | "mjs" | "map" | "wasm" => Some("scripts"),
        "png" | "jpg" | "jpeg" | "gif" | "svg" | "ico" | "webp" | "avif" => Some("images"),
        "woff" | "woff2" | "ttf" | "otf" | "eot" => Some("fonts"),
        "mp4" | "webm" | "mp3" | "ogg" => Some("media"),
        _ => None,
    }
}

/// A URL short enough for a note, without its user and query, which may contain secrets.
fn shown(url: &str) -> String {
    const MAX_SHOWN: usize = 80;
    let parts = plan::UrlParts::parse(url.split(['?', '#']).next().unwrap_or_default());
    let colon = if parts.scheme.is_empty() { "" } else { "://" };
    let route = format!("{}{colon}{}{}", parts.scheme, parts.host, parts.path);
    let short: String = route.chars().take(MAX_SHOWN).collect();
    if short.len() < route.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_the_end_of_a_name() {
        for (origin, expected) in [
            ("https://www.shop.example:8443", "shop.example"),
            ("https://shop.example", "shop.example"),
            ("http://localhost:8080", "localhost"),
            ("http://127.0.0.1:81", "127.0.0.1"),
            ("http://[::1]:81", "[::1]"),
            ("http://[::1]", "[::1]"),
        ] {
            assert_eq!(site(origin), expected, "{origin}");
        }
    }
}
