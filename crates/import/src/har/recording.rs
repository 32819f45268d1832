//! The used parts of a HAR file. Browsers omit and add much, so nearly everything may be missing or null.

use crate::Error;
use crate::url::ParsedUrl;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Deserialize;
use units::Moment;

#[derive(Deserialize)]
struct HarFile {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    pages: Option<Vec<Page>>,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Page {
    id: Option<String>,
    title: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    pageref: Option<String>,
    started_date_time: Option<String>,
    time: Option<f64>,
    request: RequestEntry,
    response: Option<ResponseEntry>,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
    #[serde(rename = "_fromCache")]
    from_cache: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestEntry {
    method: String,
    url: String,
    http_version: Option<String>,
    headers: Option<Vec<Pair>>,
    cookies: Option<Vec<Pair>>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
    params: Option<Vec<Pair>>,
}

#[derive(Deserialize)]
struct ResponseEntry {
    status: Option<f64>,
    headers: Option<Vec<Pair>>,
    content: Option<ContentEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContentEntry {
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
}

#[derive(Deserialize, Clone)]
pub(super) struct Pair {
    pub name: String,
    pub value: Option<String>,
    #[serde(rename = "fileName")]
    pub file_name: Option<String>,
}

/// One request and its answer.
pub(super) struct Exchange {
    /// Milliseconds since 1970 at which the request began and its answer was complete.
    pub span: Option<(f64, f64)>,
    /// The page it was part of.
    pub page: Option<String>,
    pub method: String,
    pub url: String,
    pub version: String,
    /// `None` if the URL is not one that torment can ask for.
    pub address: Option<ParsedUrl>,
    pub headers: Vec<(String, String)>,
    pub body: Option<PostedBody>,
    /// 0 if there was no answer; `None` if not recorded.
    pub status: Option<u16>,
    pub answer_headers: Vec<(String, String)>,
    /// Media type in lower case, without parameters.
    pub media: String,
    pub answer: Option<String>,
    /// Chrome's word for what triggered it: `document`, `xhr`, `image`, …
    pub kind: String,
    pub from_cache: bool,
}

/// What was sent.
pub(super) struct PostedBody {
    pub media: String,
    pub text: Option<Vec<u8>>,
    pub fields: Vec<Pair>,
}

impl Exchange {
    /// Whether its headers indicate a body.
    pub(super) fn has_body(&self) -> bool {
        let length = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        length.is_some_and(|(_, value)| value.trim() != "0")
    }
}

impl PostedBody {
    pub(super) fn has_files(&self) -> bool {
        self.fields.iter().any(|field| field.file_name.is_some())
    }

    /// Whether it is a multipart form, recorded as its fields, none of which is a file.
    pub(super) fn is_multipart_text(&self) -> bool {
        self.media == "multipart/form-data" && !self.fields.is_empty() && !self.has_files()
    }
}

/// All exchanges in the order in which they began.
pub(super) fn parse(text: &str) -> Result<Vec<Exchange>, Error> {
    const EXPECTED: &str = "expected a HAR file, as a browser's network panel saves it ('Save all as HAR')";
    let text = text.trim_start_matches('\u{feff}');
    let file: HarFile = serde_json::from_str(text).map_err(|e| Error::new(format!("{e}; {EXPECTED}")))?;
    let pages = file.log.pages.unwrap_or_default();
    if file.log.entries.is_empty() {
        return Err(Error::new(
            "the recording is empty; open the network panel first, then load the page, then save",
        ));
    }
    // Stable, so that entries of the same moment or without one keep their order.
    let mut last = f64::MIN;
    let in_order = |entry: Entry| {
        let exchange = exchange(entry, &pages);
        last = exchange.span.map_or(last, |(start, _)| start);
        (last, exchange)
    };
    let mut keyed: Vec<(f64, Exchange)> = file.log.entries.into_iter().map(in_order).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(keyed.into_iter().map(|(_, exchange)| exchange).collect())
}

fn exchange(entry: Entry, pages: &[Page]) -> Exchange {
    let Entry { pageref, started_date_time, time, request, response, resource_type, from_cache } = entry;
    let start = started_date_time.as_deref().and_then(milliseconds);
    let page = pageref.and_then(|id| {
        let page = pages.iter().find(|page| page.id.as_deref() == Some(&id));
        page.map_or(Some(id), |page| page.title.clone().or(page.id.clone()))
    });
    let address = request.url.starts_with("http").then(|| ParsedUrl::parse(&request.url).ok()).flatten();
    let mut headers = pairs(request.headers);
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        let cookies: Vec<_> =
            pairs(request.cookies).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            headers.push(("Cookie".to_owned(), cookies.join("; ")));
        }
    }
    let (status, answer_headers, content) = match response {
        Some(r) => (r.status, pairs(r.headers), r.content),
        None => (None, Vec::new(), None),
    };
    let media = content.as_ref().and_then(|c| c.mime_type.as_deref()).map(media_type).unwrap_or_default();
    let answer = content.and_then(|content| {
        let bytes = decoded(content.text?, content.encoding.as_deref())?;
        String::from_utf8(bytes).ok()
    });
    Exchange {
        span: start.map(|start| (start, start + time.unwrap_or_default().max(0.0))),
        page,
        method: request.method,
        url: request.url,
        version: request.http_version.unwrap_or_default().to_ascii_lowercase(),
        address,
        headers,
        body: request.post_data.map(|posted| PostedBody {
            media: posted.mime_type.as_deref().map(media_type).unwrap_or_default(),
            text: posted.text.and_then(|text| decoded(text, posted.encoding.as_deref())),
            fields: posted.params.unwrap_or_default(),
        }),
        // Exporters write -1 or 0 for none.
        status: status.map(|status| if (100.0..=999.0).contains(&status) { status as u16 } else { 0 }),
        answer_headers,
        media,
        answer,
        kind: resource_type.unwrap_or_default().to_ascii_lowercase(),
        from_cache: from_cache
            .is_some_and(|value| !matches!(value, serde_json::Value::Null | serde_json::Value::Bool(false))),
    }
}

fn pairs(pairs: Option<Vec<Pair>>) -> Vec<(String, String)> {
    pairs.unwrap_or_default().into_iter().map(|pair| (pair.name, pair.value.unwrap_or_default())).collect()
}

fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn decoded(text: String, encoding: Option<&str>) -> Option<Vec<u8>> {
    match encoding {
        Some(encoding) if encoding.eq_ignore_ascii_case("base64") => {
            let text: String = text.split_ascii_whitespace().collect();
            BASE64_STANDARD.decode(text).ok()
        }
        _ => Some(text.into_bytes()),
    }
}

/// Milliseconds since 1970 of `2024-05-01T12:00:00.123Z` or `…+02:00` (ISO 8601 as in HAR).
fn milliseconds(text: &str) -> Option<f64> {
    Some(Moment::from_date(text)?.0 as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_moments() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0.0)),
            ("1970-01-01T00:00:00.250Z", Some(250.0)),
            ("2024-02-29T12:00:00.000Z", Some(1_709_208_000_000.0)),
            ("2024-02-29T14:00:00.000+02:00", Some(1_709_208_000_000.0)),
            ("2024-02-29T07:30:00-0430", Some(1_709_208_000_000.0)),
            ("2000-03-01T00:00Z", Some(951_868_800_000.0)),
            ("yesterday", None),
            ("2024-13-01T00:00:00Z", None),
            ("2024-01-01T", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn says_what_is_no_recording() {
        for (text, advice) in [
            ("", "expected a HAR file"),
            ("<html>", "line 1 column 1"),
            ("{\"log\": {}}", "missing field `entries`"),
            ("{\"log\": {\"entries\": []}}", "the recording is empty"),
        ] {
            let error = parse(text).err().expect(text).to_string();
            assert!(error.contains(advice), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_missing_or_null_is_no_mistake() {
        let text = r#"{"log": {"pages": null, "entries": [
            {"startedDateTime": null, "time": null, "request": {"method": "GET", "url": "http://h/a", "headers": null,
             "cookies": [{"name": "a", "value": "b"}], "postData": {}}, "response": {"status": -1, "content": {"size": 3}}},
            {"request": {"method": "GET", "url": "data:,x"}, "_fromCache": "disk"}]}}"#;
        let exchanges = parse(text).expect("all is optional");
        assert_eq!(exchanges[0].headers, [("Cookie".to_owned(), "a=b".to_owned())]);
        assert_eq!((exchanges[0].status, exchanges[0].span), (Some(0), None));
        assert!(exchanges[1].status.is_none() && exchanges[1].address.is_none() && exchanges[1].from_cache);
    }
}
