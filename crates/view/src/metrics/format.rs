//! Negotiates the text format.

/// A text format for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus text format 0.0.4, which every scraper reads.
    Prometheus,
}

impl ExpositionFormat {
    /// The format preferred by an `Accept` header; Prometheus if it names none.
    pub fn from_accept(accept: &str) -> Self {
        let weight = |named: &[&str]| {
            let kinds = accept.split(',').filter_map(|kind| {
                let mut parts = kind.split(';').map(str::trim);
                let name = parts.next()?.to_ascii_lowercase();
                named.contains(&name.as_str()).then_some(())?;
                let weight =
                    parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |q| q.parse().ok());
                weight.filter(|weight: &f64| weight.is_finite())
            });
            kinds.fold(0.0, f64::max)
        };
        let open = weight(&["application/openmetrics-text"]);
        let plain = weight(&["text/plain", "text/*"]);
        if open > 0.0 && open >= plain { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// Its `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_gets_what_it_would_rather_have() {
        for (accept, wanted) in [
            ("", ExpositionFormat::Prometheus),
            ("*/*", ExpositionFormat::Prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", ExpositionFormat::Prometheus),
            ("text/plain", ExpositionFormat::Prometheus),
            ("application/openmetrics-text", ExpositionFormat::OpenMetrics),
            ("Application/OpenMetrics-Text; version=1.0.0", ExpositionFormat::OpenMetrics),
            (
                "application/openmetrics-text; version=1.0.0; q=0.5, text/plain;version=0.0.4;q=0.3",
                ExpositionFormat::OpenMetrics,
            ),
            ("application/openmetrics-text;q=0.2,text/plain;q=0.9", ExpositionFormat::Prometheus),
            ("application/openmetrics-text;q=0", ExpositionFormat::Prometheus),
            ("application/openmetrics-text;q=x,text/plain;q=nan", ExpositionFormat::Prometheus),
        ] {
            assert_eq!(ExpositionFormat::from_accept(accept), wanted, "{accept}");
        }
    }
}
