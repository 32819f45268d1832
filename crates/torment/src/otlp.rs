//! `--otlp`: pushes a run's measures to an OpenTelemetry collector while it lasts.

use crate::{CommandError, usage_error};
use anyhow::{Context, anyhow};
use meter::{CollectorHeaders, CollectorUrl, MetricsPusher};
use std::path::Path;
use store::Store;

/// Extra headers, as all OpenTelemetry programs take them.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// Trusted authorities, as wherever torment speaks TLS.
const AUTHORITIES: &str = "SSL_CERT_FILE";

/// Pushes the run about to begin, if asked for, from a thread that avoids these processors.
pub fn push(
    collector: Option<&CollectorUrl>,
    store: Option<&Store>,
    processors: &[u32],
) -> Result<Option<MetricsPusher>, CommandError> {
    let Some(to) = collector else { return Ok(None) };
    let Some(store) = store else {
        return Err(usage_error(anyhow!(
            "--otlp pushes what the store keeps, and --no-store keeps nothing: leave one of them out"
        )));
    };
    let authorities = std::env::var_os(AUTHORITIES);
    let authorities = authorities.as_deref().map(Path::new);
    let push = MetricsPusher::start(store.path(), to.clone(), headers()?, authorities, processors);
    Ok(Some(push.context("--otlp cannot push")?))
}

fn headers() -> Result<CollectorHeaders, CommandError> {
    let Some(text) = std::env::var_os(HEADERS) else { return Ok(CollectorHeaders::default()) };
    // Only text can be a header; the value is not repeated, since it may be a secret.
    let text = text.into_string().map_err(|_| usage_error(anyhow!("{HEADERS}: it is not text")))?;
    text.parse().map_err(|why: String| usage_error(anyhow!("{HEADERS}: {why}")))
}
