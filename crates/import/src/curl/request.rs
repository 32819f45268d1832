//! From curl operations to requests of a plan.

use super::operation::{DataPart, Operation};
use crate::document::{Auth, Body, Document, Request};
use crate::form::{self, CONTENT_TYPE};
use crate::header::omission_reason;
use crate::multipart::Part;
use crate::secret::Secrets;
use crate::url::ParsedUrl;
use crate::{Error, encode, multipart};

/// Adds the requests of one operation, one for each of its URLs.
pub(super) fn add(mut operation: Operation, document: &mut Document) -> Result<(), Error> {
    if operation.urls.is_empty() && !document.requests.is_empty() {
        document.notes.push("what follows the last --next has no URL and is left out".to_owned());
        return Ok(());
    }
    if operation.urls.is_empty() {
        return Err(Error::new("the curl command has no URL; expected one such as http://host:8080/path"));
    }
    let notes = std::mem::take(&mut operation.notes);
    let mut request = Request { notes, ..Request::default() };
    headers(&operation, document, &mut request);
    let body = body(&operation, document, &mut request);
    let mut query = std::mem::take(&mut operation.queries);
    match body {
        Body::Bytes(data) if operation.get => query.push(String::from_utf8_lossy(&data).into_owned()),
        body => request.body = body,
    }
    request.method = match &operation.method {
        Some(method) => method.clone(),
        None if operation.head => "HEAD".to_owned(),
        None if operation.upload.is_some() => "PUT".to_owned(),
        None if request.body != Body::None => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    if let Some(seconds) = &operation.max_time {
        match seconds.parse::<f64>() {
            Ok(time) if (0.001..=86_400.0).contains(&time) => request.timeout = Some(format!("{time}s")),
            _ => {
                request.note(format!("-m {seconds} is not a number of seconds up to a day, and is left out"))
            }
        }
    }
    for url in &operation.urls {
        match ParsedUrl::parse(url) {
            Ok(address) => add_request(address, &operation, &query, request.clone(), document),
            Err(why) if document.requests.is_empty() => return Err(Error::new(why)),
            Err(why) => document.notes.push(format!("one of the URLs is left out: {why}")),
        }
    }
    Ok(())
}

fn add_request(
    mut address: ParsedUrl,
    operation: &Operation,
    query: &[String],
    mut request: Request,
    document: &mut Document,
) {
    for query in query {
        address.path.push(if address.path.contains('?') { '&' } else { '?' });
        address.path.push_str(&encode::visible(query.as_bytes()));
    }
    if !operation.no_globbing {
        address.path = globbed(&address.path, document, &mut request);
    }
    if !operation.path_as_is && ParsedUrl::route(&address.path).split('/').any(|part| part == "..") {
        request.note("curl would shorten the '..' in the path; torment sends it");
    }
    request.url = document.secrets.hide_in_url(&address.path, "in the URL, escaped as it stands there");
    request.auth = auth(operation, address.user.as_deref(), document, &mut request);
    request.name = format!("{} {}", request.method, ParsedUrl::route(&request.url));
    target(&address.origin, operation, document, &mut request);
    document.requests.push(request);
}

/// A plan has one target: the first request's.
fn target(origin: &str, operation: &Operation, document: &mut Document, request: &mut Request) {
    let target = &mut document.target;
    if target.url.is_empty() {
        target.url = format!("{origin}/");
        target.unix_socket = operation.unix_socket.clone();
        target.insecure = operation.insecure;
        target.http = operation.http;
    } else if target.url != format!("{origin}/") {
        request.disabled = true;
        request.note(format!(
            "this one goes to {origin}, and a plan has one target: it is commented out; import it on its own"
        ));
    } else if (&target.unix_socket, target.insecure, target.http)
        != (&operation.unix_socket, operation.insecure, operation.http)
    {
        request.note("socket, -k or HTTP version differ from those of the first request, which hold for all");
    }
}

fn headers(operation: &Operation, document: &mut Document, request: &mut Request) {
    for (name, value) in &operation.headers {
        if let Some(why) = omission_reason(name, value) {
            request.note(format!("the header '{name}' is left out: {why}"));
        } else {
            let value = document.secrets.hide_in_header(name, value, has_variable(value));
            request.headers.push((name.clone(), value));
        }
    }
    if !operation.cookies.is_empty() {
        let cookies = operation.cookies.join("; ");
        let value = document.secrets.hide_in_header("Cookie", &cookies, has_variable(&cookies));
        request.headers.push(("Cookie".to_owned(), value));
    }
}

fn has_variable(text: &str) -> bool {
    text.contains("{env:")
}

fn auth(
    operation: &Operation,
    from_url: Option<&str>,
    document: &mut Document,
    request: &mut Request,
) -> Option<Auth> {
    let user = match (&operation.user, from_url) {
        (Some(user), _) => Some(user.clone()),
        // Escaped in the URL, but not in the plan, which encodes the password itself.
        (None, Some(user)) => Some(encode::decode(user)),
        (None, None) => None,
    };
    let bearer = operation.bearer.as_ref();
    if (user.is_some() || bearer.is_some()) && request.header("authorization").is_some() {
        request.note("the header 'Authorization' wins over user and token given beside it");
        return None;
    }
    if let Some(token) = bearer {
        return Some(Auth::Bearer(hidden(&mut document.secrets, "TOKEN", token, "the bearer token")));
    }
    let user = user?;
    let secrets = &mut document.secrets;
    Some(Auth::Basic(match user_and_password(&user) {
        // A token that stands for both, as in `-u token:` and `http://token@host`; or a variable that contains both.
        (token, password) if password.map_or(operation.user.is_none(), str::is_empty) => {
            format!("{}:", hidden(secrets, "TOKEN", token, "the user, who has no password"))
        }
        (both, None) if has_variable(both) => both.to_owned(),
        (name, password) => {
            let what = format!("the password of '{name}'");
            format!("{name}:{}", hidden(secrets, "PASSWORD", password.unwrap_or_default(), &what))
        }
    }))
}

/// The parts of `user:password`; a colon inside a placeholder does not separate.
fn user_and_password(text: &str) -> (&str, Option<&str>) {
    let is_name = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let within = |at: usize| {
        text[..at].ends_with("{env") && text[at + 1..].split_once('}').is_some_and(|(name, _)| is_name(name))
    };
    match text.match_indices(':').map(|(at, _)| at).find(|at| !within(*at)) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn hidden(secrets: &mut Secrets, sort: &str, value: &str, what: &str) -> String {
    match has_variable(value) {
        true => secrets.hide_around(sort, value, what, str::is_empty),
        false => secrets.hide(sort, value, what),
    }
}

/// The body, with its headers and notes.
fn body(operation: &Operation, document: &mut Document, request: &mut Request) -> Body {
    if let Some(file) = &operation.upload {
        return body_file(file, request);
    }
    if !operation.parts.is_empty() || !operation.file_parts.is_empty() {
        return parts(operation, document, request);
    }
    if operation.data.is_empty() {
        return Body::None;
    }
    let without = |name: &str, request: &Request| {
        request.header(name).is_none() && !operation.removed.iter().any(|n| n.eq_ignore_ascii_case(name))
    };
    if operation.json {
        for name in ["Content-Type", "Accept"] {
            if without(name, request) {
                request.headers.push((name.to_owned(), "application/json".to_owned()));
            }
        }
    } else if !operation.get && without("Content-Type", request) {
        request.headers.push(("Content-Type".to_owned(), CONTENT_TYPE.to_owned()));
    }
    if let [DataPart::File(file, strips)] = operation.data.as_slice()
        && !operation.get
    {
        if *strips {
            request.note(format!(
                "curl strips the line breaks from {file} before sending it (-d); torment sends the file as \
                 it is"
            ));
        }
        return body_file(file, request);
    }
    if operation.data.iter().any(|data| matches!(data, DataPart::File(..))) {
        request.note(
            "the data is made up of text and files, which is not carried over: the files are left out; \
             write all of it into one body_file",
        );
    }
    let pieces: Vec<&[u8]> = operation
        .data
        .iter()
        .filter_map(|data| match data {
            DataPart::Bytes(bytes) => Some(bytes.as_slice()),
            DataPart::File(..) => None,
        })
        .collect();
    let separator: &[u8] = if operation.json { b"" } else { b"&" };
    let bytes = pieces.join(separator);
    match String::from_utf8(bytes) {
        Ok(text) => {
            // The secrets of a form that becomes a query are hidden there.
            let is_query = |media: &&str| operation.get && media.starts_with(CONTENT_TYPE);
            let media = request.header("content-type").filter(|media| !is_query(media)).unwrap_or_default();
            form::body(&text, media, "in the body", &mut document.secrets, str::to_owned)
        }
        Err(e) => Body::Bytes(e.into_bytes()),
    }
}

fn body_file(file: &str, request: &mut Request) -> Body {
    if matches!(file, "" | "-" | ".") {
        request.note("the body comes from curl's standard input, which is not carried over");
        return Body::None;
    }
    request.comments.push(format!("{file} is looked for next to this file."));
    Body::File(file.to_owned())
}

/// A multipart body, if all parts are text.
fn parts(operation: &Operation, document: &mut Document, request: &mut Request) -> Body {
    if !operation.file_parts.is_empty() {
        request.note(format!(
            "-F with a file ({}) is not carried over, nor the parts beside it: a multipart body with files \
             cannot be written here; record it once and name the recording as body_file",
            operation.file_parts.join(", ")
        ));
        return Body::None;
    }
    let part = |part: &Part| Part {
        value: document.secrets.hide_in_field(&part.name, &part.value, "in a form"),
        ..part.clone()
    };
    let parts: Vec<_> = operation.parts.iter().map(part).collect();
    multipart::body(&parts, request)
}

/// curl's `[1-100]` becomes torment's `{1..100}`; its other patterns are only noted.
fn globbed(path: &str, document: &mut Document, request: &mut Request) -> String {
    let (mut out, mut rest) = (String::new(), path);
    while let Some(at) = rest.find('[')
        && let Some(end) = rest[at..].find(']').map(|end| at + end)
    {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 1..end];
        let bounds = inner.split_once('-').and_then(|(a, b)| Some((whole(a)?, whole(b)?)));
        if let Some((from, to)) = bounds.filter(|(from, to)| from <= to) {
            let placeholder = format!("{{{from}..{to}}}");
            out.push_str(&placeholder);
            document.placeholders.insert(placeholder);
        } else {
            request.note(format!("curl would expand [{inner}] in the URL; here it is text"));
            out.push_str(&rest[at..=end]);
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    let list =
        path.split('{').skip(1).filter_map(|part| part.split_once('}')).find(|(list, _)| list.contains(','));
    if let Some((list, _)) = list {
        request.note(format!("curl would expand {{{list}}} in the URL; here it is text"));
    }
    out
}

/// A number without leading zeros.
fn whole(text: &str) -> Option<u32> {
    text.parse().ok().filter(|n: &u32| n.to_string() == text)
}
