//! `serve`, and `--page`: the page for as long as wanted, or during a run; and a run's other publishers.

use crate::args::{CommonArgs, PageArgs, ServeArgs};
use crate::interrupt::InterruptSignals;
use crate::{CommandError, otlp, paper, run_source, usage_error};
use anyhow::anyhow;
use meter::MetricsPusher;
use page::{Address, PageServer, ServeOptions, Token};
use record::RunId;
use runner::exit;
use std::io::{self, IsTerminal, Write};
use store::Store;
use tui::print;
use view::{Text, Tone};

/// Message in place of the page.
pub const NOT_BUILT: &str =
    "this torment was built without its page: run `make page build` in its source tree, with npm installed";

pub fn serve(args: &ServeArgs, common: &CommonArgs) -> Result<u8, CommandError> {
    // Created if missing: runs to come will be seen.
    let store = run_source::open(common)?;
    let token = args.token.clone().or_else(|| required_token(args.listen));
    let mut signals = InterruptSignals::listen()?;
    let serving = ServeOptions { store: store.path(), at: args.listen, token, load_cpus: None };
    let page = PageServer::start(&serving).map_err(|why| serve_error(args.listen, "--listen ", &why))?;
    let mut out = io::stdout().lock();
    writeln!(out, "the page of {} is at {}", store.path().display(), page.url())?;
    out.flush()?;
    drop(out);
    if !page::is_built() {
        eprintln!("torment: {NOT_BUILT}");
    }
    signals.wait();
    page.shut_down();
    Ok(exit::MET)
}

/// Publishers of a run, who learn only which run it is and when it has ended.
pub struct RunPublishers {
    page: Option<PageServer>,
    push: Option<MetricsPusher>,
}

impl RunPublishers {
    /// Whether the terminal shows the page's address, which the live view would hide.
    pub fn is_announced(&self) -> bool {
        self.page.is_some()
    }

    pub fn set_run(&self, id: &RunId) {
        if let Some(page) = &self.page {
            page.set_home_run(id);
        }
        if let Some(push) = &self.push {
            push.set_run(id);
        }
    }

    /// The run has ended, and all of it is stored. Returns a sentence about that, if any.
    pub fn end(self) -> Option<String> {
        let note = self.push.and_then(MetricsPusher::end);
        if let Some(page) = self.page {
            page.shut_down();
        }
        note
    }
}

/// Starts the publishers asked for; they avoid these processors.
pub fn start_publishers(
    page_args: &PageArgs,
    store: Option<&Store>,
    processors: &[u32],
    common: &CommonArgs,
) -> Result<RunPublishers, CommandError> {
    let push = otlp::push(page_args.otlp.as_ref(), store, processors)?;
    let page = serve_run_page(page_args, store, processors, common)?;
    Ok(RunPublishers { page, push })
}

/// Serves the run's page, if asked for, and says where.
fn serve_run_page(
    page_args: &PageArgs,
    store: Option<&Store>,
    processors: &[u32],
    common: &CommonArgs,
) -> Result<Option<PageServer>, CommandError> {
    let Some(named) = page_args.page else { return Ok(None) };
    let Some(store) = store else {
        return Err(usage_error(anyhow!(
            "--page shows what the store keeps, and --no-store keeps nothing: leave one of them out"
        )));
    };
    let at = named.unwrap_or_default();
    let start = |at| {
        PageServer::start(&ServeOptions {
            store: store.path(),
            at,
            token: required_token(at),
            load_cpus: Some(processors),
        })
    };
    let page = match start(at) {
        // The port is only the default: perhaps a `torment serve` has it.
        Err(why) if why.kind() == io::ErrorKind::AddrInUse && named.is_none() => start(at.with_free_port()),
        started => started,
    };
    let page = page.map_err(|why| serve_error(at, "--page=", &why))?;
    let mut lines = vec![Text::plain("  the page of this run: ").with_span(Tone::Strong, page.url())];
    if !page::is_built() {
        lines.push(Text::plain("  ").with_span(Tone::Warn, NOT_BUILT));
    }
    print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))?;
    Ok(Some(page))
}

/// If others could connect, everybody needs a token.
fn required_token(at: Address) -> Option<Token> {
    at.is_open().then(Token::random)
}

/// Why nothing can be served there, and the remedy; `option` as it is typed before an address.
fn serve_error(at: Address, option: &str, why: &io::Error) -> CommandError {
    let (ip, port) = (at.0.ip(), at.0.port());
    let message = match why.kind() {
        io::ErrorKind::AddrInUse => {
            let by = service::listeners(port).unwrap_or_default();
            let by = by.first().map_or_else(
                || "another program".to_owned(),
                |listener| format!("{} (process {})", listener.name, listener.pid),
            );
            format!("{at} is taken by {by}; stop it, or choose another port: {option}0 picks a free one")
        }
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "this machine has no address {ip}; expected one of its own, 127.0.0.1 for itself alone, or 0.0.0.0 for all"
            )
        }
        io::ErrorKind::PermissionDenied => {
            format!(
                "this user may not listen at port {port}; choose 1024 or higher: {option}{}",
                Address::default()
            )
        }
        _ => format!("the page cannot be served at {at}: {why}"),
    };
    anyhow!(message).into()
}
