//! Which recorded cookies the flow's own cookie handling reproduces.

use super::recording::Exchange;
use std::collections::BTreeSet;

/// Names of the cookies set by answers to earlier steps.
#[derive(Default)]
pub(super) struct CookieJar {
    names: BTreeSet<String>,
}

impl CookieJar {
    /// The cookies of a request that no earlier answer set, as a header's value.
    pub(super) fn unexplained(&self, exchange: &Exchange) -> Option<String> {
        let sent = exchange.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let cookies: Vec<&str> = sent
            .flat_map(|(_, value)| value.split(';'))
            .map(str::trim)
            .filter(|cookie| !cookie.is_empty() && !self.names.contains(name(cookie)))
            .collect();
        (!cookies.is_empty()).then(|| cookies.join("; "))
    }

    /// Records what an answer sets. Chrome puts several into one value, on separate lines.
    pub(super) fn store(&mut self, exchange: &Exchange) {
        let set = exchange.answer_headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
        let cookies = set.flat_map(|(_, value)| value.lines());
        self.names.extend(cookies.map(|cookie| name(cookie).to_owned()));
    }
}

fn name(cookie: &str) -> &str {
    cookie.split(['=', ';']).next().unwrap_or_default().trim()
}
