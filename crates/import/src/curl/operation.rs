use super::options::{self, ParsedOption};
use crate::encode;
use crate::multipart::Part;
use plan::is_token;

/// What one set of curl's options requests; `--next` begins another.
#[derive(Debug, Default)]
pub(super) struct Operation {
    pub urls: Vec<String>,
    pub method: Option<String>,
    pub headers: Vec<(String, String)>,
    /// Names of headers that curl is told not to send.
    pub removed: Vec<String>,
    pub data: Vec<DataPart>,
    /// Added to the URL's own query.
    pub queries: Vec<String>,
    pub parts: Vec<Part>,
    /// Names of `-F` fields whose content is a file's.
    pub file_parts: Vec<String>,
    pub upload: Option<String>,
    /// `user:password`.
    pub user: Option<String>,
    pub bearer: Option<String>,
    pub cookies: Vec<String>,
    pub json: bool,
    pub head: bool,
    pub get: bool,
    pub no_globbing: bool,
    pub path_as_is: bool,
    pub insecure: bool,
    pub unix_socket: Option<String>,
    pub http: Option<&'static str>,
    pub max_time: Option<String>,
    pub notes: Vec<String>,
}

/// One piece of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DataPart {
    Bytes(Vec<u8>),
    /// A file, and whether curl strips its line ends.
    File(String, bool),
}

impl Operation {
    /// All operations of the words after `curl`.
    pub(super) fn parse(words: &[Vec<u8>]) -> Vec<Self> {
        let mut operations = vec![Self::default()];
        for option in options::parse(words) {
            if option.name == "next" {
                operations.push(Self::default());
            } else {
                operations.last_mut().expect("there is one from the start").apply_option(option);
            }
        }
        operations
    }

    fn apply_option(&mut self, option: ParsedOption) {
        let ParsedOption { name, written, value, known } = option;
        let text = || String::from_utf8_lossy(&value).into_owned();
        match name.as_str() {
            "unix-socket" | "range" | "oauth2-bearer" | "user" | "upload-file" if value.is_empty() => {
                self.note(format!("{written} has no value and is left out"));
            }
            "url" => self.urls.push(text()),
            "request" if is_token(&text()) && text() != "CONNECT" => self.method = Some(text()),
            "head" => self.head = true,
            "get" => self.get = true,
            "header" => self.header(&text()),
            "user-agent" => self.set("User-Agent", text()),
            "referer" => self.set("Referer", text().trim_end_matches(";auto").to_owned()),
            "range" => self.set("Range", format!("bytes={}", text())),
            "compressed" => self.set("Accept-Encoding", "gzip, deflate, br".to_owned()),
            "cookie" if text().contains('=') => self.cookies.push(text()),
            "user" => self.user = Some(text()),
            "oauth2-bearer" => self.bearer = Some(text()),
            "data" | "data-ascii" => self.data(value, true),
            "data-binary" => self.data(value, false),
            "data-raw" => self.data.push(DataPart::Bytes(value)),
            "json" => {
                self.json = true;
                self.data(value, false);
            }
            "data-urlencode" => self.urlencoded(&text()),
            "url-query" => self.query(&text()),
            "form" | "form-string" => self.form(&name, &text()),
            "upload-file" => self.upload = Some(text()),
            "insecure" => self.insecure = true,
            "no-insecure" => self.insecure = false,
            "unix-socket" => self.unix_socket = Some(text()),
            "http1.1" => self.http = Some("1"),
            "http2" | "http2-prior-knowledge" => self.http = Some("2"),
            "max-time" => self.max_time = Some(text()),
            "globoff" => self.no_globbing = true,
            "path-as-is" => self.path_as_is = true,
            "location" | "location-trusted" | "max-redirs" | "post301" | "post302" | "post303" => {
                self.note(format!(
                    "{written}: redirects are not followed; a 3xx counts as answered, ask for its Location instead"
                ));
            }
            other if options::is_harmless(other) => {}
            other => {
                let why = reason(other);
                let value = if value.is_empty() || has_secret_value(other) {
                    String::new()
                } else {
                    format!(" {}", text())
                };
                let what = if known { "is not carried over" } else { "is not known and left out" };
                self.note(format!("{written}{value} {what}{why}"));
            }
        }
    }

    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A header set by an option; one given with `-H` overrides it.
    fn set(&mut self, name: &str, value: String) {
        if !self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)) {
            self.headers.push((name.to_owned(), value));
        }
    }

    /// `Name: value`, `Name:` (not sent), `Name;` (sent empty).
    fn header(&mut self, text: &str) {
        match text.split_once(':') {
            // HTTP/2 pseudo-headers begin with a colon.
            Some(("", rest)) => {
                let (name, value) = rest.split_once(':').unwrap_or((rest, ""));
                self.headers.push((format!(":{name}"), value.trim().to_owned()));
            }
            Some((name, value)) if value.trim().is_empty() => self.removed.push(name.trim().to_owned()),
            Some((name, value)) => {
                let (name, value) = (name.trim(), value.trim());
                let twice = ["user-agent", "referer", "accept-encoding", "range"];
                if twice.iter().any(|own| name.eq_ignore_ascii_case(own)) {
                    self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
                }
                self.headers.push((name.to_owned(), value.to_owned()));
            }
            None => match text.strip_suffix(';') {
                Some(name) => self.headers.push((name.trim().to_owned(), String::new())),
                None if text.starts_with('@') => {
                    self.note(format!("-H {text}: headers from a file are not carried over; write them out"));
                }
                None => {
                    // It may be a secret whose colon is missing.
                    let name =
                        text.split_once([' ', '=']).map_or(String::new(), |(name, _)| format!(" '{name}…'"));
                    self.note(format!("-H{name} is not a header 'Name: value', and is left out"));
                }
            },
        }
    }

    fn data(&mut self, value: Vec<u8>, strips: bool) {
        match value.strip_prefix(b"@") {
            Some(file) => self.data.push(DataPart::File(String::from_utf8_lossy(file).into_owned(), strips)),
            None => self.data.push(DataPart::Bytes(value)),
        }
    }

    /// `content`, `=content`, `name=content`; `@file` and `name@file` are only noted.
    fn urlencoded(&mut self, text: &str) {
        match urlencoded(text) {
            Some(encoded) => self.data.push(DataPart::Bytes(encoded.into_bytes())),
            None => self.note(format!(
                "--data-urlencode {text}: no file is encoded here; encode it and name it as body_file"
            )),
        }
    }

    fn query(&mut self, text: &str) {
        let as_it_is = text.strip_prefix('+').map(str::to_owned);
        match as_it_is.or_else(|| urlencoded(text)) {
            Some(query) => self.queries.push(query),
            None => self.note(format!("--url-query {text}: no file is read here; write out what it holds")),
        }
    }

    /// `name=text` and `name=text;type=…`; a body cannot be put together from texts and files.
    fn form(&mut self, option: &str, text: &str) {
        let Some((name, mut content)) = text.split_once('=') else {
            return self.note("-F without '=' is not a field 'name=content', and is left out".to_owned());
        };
        let mut content_type = None;
        if option == "form" {
            if content.starts_with(['@', '<']) {
                return self.file_parts.push(name.to_owned());
            }
            if let Some((before, kind)) = content.rsplit_once(";type=") {
                (content, content_type) = (before, Some(kind.to_owned()));
            }
        }
        self.parts.push(Part { name: name.to_owned(), value: content.to_owned(), content_type });
    }
}

/// What `--data-urlencode` sends, unless it is a file's content.
fn urlencoded(text: &str) -> Option<String> {
    match text.find(['=', '@']) {
        Some(at) if text[at..].starts_with('@') => None,
        Some(0) => Some(encode_around_variables(&text[1..])),
        Some(at) => Some(format!("{}={}", &text[..at], encode_around_variables(&text[at + 1..]))),
        None => Some(encode_around_variables(text)),
    }
}

/// Encodes all but the placeholders of variables.
fn encode_around_variables(mut text: &str) -> String {
    let mut out = String::new();
    while let Some(at) = text.find("{env:")
        && let Some(end) = text[at..].find('}').map(|end| at + end + 1)
    {
        out.push_str(&encode::form(&text.as_bytes()[..at]));
        out.push_str(&text[at..end]);
        text = &text[end..];
    }
    out + &encode::form(text.as_bytes())
}

/// Options whose value must not appear in notes.
fn has_secret_value(name: &str) -> bool {
    const SECRET_PARTS: [&str; 13] = units::texts![
        "pass" "user" "cert" "header" "proxy" "login-options" "socks" "variable" "account" "auth" "url" "gateway"
        "quote"
    ];
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Why a curl option is not carried over, and what to do about it, if known.
fn reason(name: &str) -> &'static str {
    match name {
        "http0.9" | "http1.0" | "http3" | "http3-only" => ": torment speaks HTTP/1.1 and HTTP/2",
        "proxy" | "preproxy" | "proxytunnel" | "socks4" | "socks4a" | "socks5" | "socks5-hostname" => {
            ": requests go straight to the target"
        }
        "cert" | "key" | "cert-type" | "key-type" | "pass" => ": torment presents no certificate of its own",
        "cacert" | "capath" => ": name the authorities in the environment variable SSL_CERT_FILE",
        "resolve" | "connect-to" => ": put the address into target.url and the name into a header 'Host: …'",
        "connect-timeout" => ": the timeout of a request counts from its due time, connecting included",
        "retry" | "retry-delay" | "retry-max-time" | "retry-all-errors" | "retry-connrefused" => {
            ": nothing is retried"
        }
        "digest" | "ntlm" | "ntlm-wb" | "negotiate" | "anyauth" | "aws-sigv4" => {
            ": torment knows basic and bearer authorization"
        }
        "netrc" | "netrc-file" | "netrc-optional" => ": write basic = \"user:{env:PASSWORD}\" in [target]",
        "cookie" => ": cookie files are not read; write a header 'Cookie: {env:COOKIE}'",
        "cookie-jar" | "junk-session-cookies" => ": cookies are kept in a [[flow]], for each user",
        "config" => ": write its options out",
        "limit-rate" | "rate" => ": the load is set with torment run and torment find",
        "request" => ": this is not a method that can be sent",
        _ => "",
    }
}
