//! What is seen in a browser: `serve`, `report`, and `--page` of whatever makes a run.

use clap::Args;
use meter::CollectorUrl;
use page::{Address, Token};
use std::path::PathBuf;

/// Serve a web page of all stored runs
///
/// Shows every run, finished or live, the history, and runs side by side. It also sees runs that another torment
/// writes to the same store. Ctrl-C ends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment serve
  torment serve --listen 8000
  torment serve --listen 0.0.0.0:7979     for other machines too, at an address that holds a token")]
pub struct ServeArgs {
    /// A port, or ADDRESS:PORT; if other machines can reach the address, the page needs a token
    #[arg(long, value_name = "ADDRESS", default_value_t)]
    pub listen: Address,
    /// Require this token [default: a random one, where one is needed]
    #[arg(long)]
    pub token: Option<Token>,
}

/// Write a run's page to an HTML file
///
/// One self-contained HTML file: it opens in any browser, without torment and without a network, years later.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  torment report                          the last run, to run-ID.html
  torment report 3f2a -o before.html      one of `torment list`
  torment report last -o limit.svg        where it breaks, as a picture
  torment report last -o limit.png        the same, for where no SVG is shown
  torment report last -o load.svg         how a load went, as a picture
  torment report last -o try.svg          what became of each hypothesis, as a picture
  torment report last -o probe.svg        what each figure of the machine is made of, as a picture
  torment report last -o report.md        for a ticket or an article, with that picture beside it
  torment report last -o - | gzip > run.html.gz")]
pub struct ReportArgs {
    /// A run, by name, id or the start of its id, last, last~N [default: last]
    pub run: Option<String>,
    /// File to write to, which is overwritten, or - for standard output [default: run-ID.html]; FILE.svg or FILE.png
    /// gets a picture of the result, FILE.md Markdown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write Markdown, to standard output unless -o names a file; the picture goes beside it
    #[arg(long)]
    pub markdown: bool,
}

/// Who looks on while a run lasts.
#[derive(Debug, Clone, Default, Args)]
pub struct PageArgs {
    /// Serve the page of this run while it lasts [default: 127.0.0.1:7979, or a free port if that is taken]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    pub page: Option<Option<Address>>,
    /// Push the measures of this run to an OpenTelemetry collector, once a second while it lasts
    ///
    /// JSON over HTTP, to URL/v1/metrics; headers come from OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL")]
    pub otlp: Option<CollectorUrl>,
}
