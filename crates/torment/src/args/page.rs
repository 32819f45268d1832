//! What is seen in a browser: `serve`, `report`, and `--page` of whatever makes a run.

use clap::Args;
use meter::Collector;
use page::{Address, Token};
use std::path::PathBuf;

/// Serve the page of all runs that are kept
///
/// For a browser: every run as it stands or as it goes on, the history, and runs beside each other. Whatever writes the
/// store is seen, also another torment. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment serve
  torment serve --listen 8000
  torment serve --listen 0.0.0.0:7979     for other machines too, by an address that holds a token")]
pub struct ServeArgs {
    /// A port, or ADDRESS:PORT; at an address that other machines reach, the page opens with a token only
    #[arg(long, value_name = "ADDRESS", default_value_t)]
    pub listen: Address,
    /// Open with this token only [default: where one is needed, one that nobody can guess]
    #[arg(long)]
    pub token: Option<Token>,
}

/// Write a run's page to a file
///
/// One HTML file with all that it shows: it opens in any browser, without torment and without a network, years later.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment report                          the last run, to run-ID.html
  torment report 3f2a -o before.html      one of `torment list`
  torment report last -o - | gzip > run.html.gz")]
pub struct ReportArgs {
    /// Which run: its name, its id or the beginning of it, last, last~N; the last one if left out
    pub run: Option<String>,
    /// To this file, which is overwritten, or - for standard output [default: run-ID.html]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Who looks on while a run lasts.
#[derive(Debug, Clone, Default, Args)]
pub struct PageArgs {
    /// Serve the page of this run while it lasts [default: at 127.0.0.1:7979, or at a free port if that is taken]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    pub page: Option<Option<Address>>,
    /// Push the measures of this run to a collector of OpenTelemetry, once a second while it lasts
    ///
    /// In JSON over HTTP, to URL/v1/metrics; headers are taken from OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL")]
    pub otlp: Option<Collector>,
}
