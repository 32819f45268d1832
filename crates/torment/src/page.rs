//! `serve`, and `--page`: the page for as long as somebody wants it, or as a run lasts; and whoever else looks on then.

use crate::args::{Common, PageArgs, ServeArgs};
use crate::interrupt::Served;
use crate::{Failure, kept, otlp, paper, wrong};
use anyhow::anyhow;
use meter::Push;
use page::{Address, Page, Serving, Token};
use record::RunId;
use runner::exit;
use std::io::{self, IsTerminal, Write};
use store::Store;
use tui::print;
use view::{Text, Tone};

/// Said where the page would be.
pub const NOT_BUILT: &str =
    "this torment was built without its page: run `make page build` in its source tree, with npm installed";

pub fn serve(args: &ServeArgs, common: &Common) -> Result<u8, Failure> {
    // Made if there is none: whoever serves first sees the runs that come.
    let store = kept::open(common)?;
    let token = args.token.clone().or_else(|| needed(args.listen));
    let mut served = Served::listen()?;
    let serving = Serving { store: store.path(), at: args.listen, token, beside: None };
    let page = Page::start(&serving).map_err(|why| refused(args.listen, "--listen ", &why))?;
    let mut out = io::stdout().lock();
    writeln!(out, "the page of {} is at {}", store.path().display(), page.url())?;
    out.flush()?;
    drop(out);
    if !page::is_built() {
        eprintln!("torment: {NOT_BUILT}");
    }
    served.wait();
    page.end();
    Ok(exit::MET)
}

/// Whoever looks on while a run lasts, and is told nothing but which run it is and when it has ended.
pub struct Beside {
    page: Option<Page>,
    push: Option<Push>,
}

impl Beside {
    /// Whether the terminal says where the page is, which the live view would hide.
    pub fn is_announced(&self) -> bool {
        self.page.is_some()
    }

    /// It is this run.
    pub fn shows(&self, id: &RunId) {
        if let Some(page) = &self.page {
            page.shows(id);
        }
        if let Some(push) = &self.push {
            push.of(id);
        }
    }

    /// It has ended, and all of it is in the store. What there is to say about that, in a sentence.
    pub fn end(self) -> Option<String> {
        let note = self.push.and_then(Push::end);
        if let Some(page) = self.page {
            page.end();
        }
        note
    }
}

/// Whoever was asked to look on the run that is about to begin; they stay away from these processors.
pub fn beside(
    asked: &PageArgs,
    store: Option<&Store>,
    processors: &[u32],
    common: &Common,
) -> Result<Beside, Failure> {
    let push = otlp::push(asked.otlp.as_ref(), store, processors)?;
    let page = served(asked, store, processors, common)?;
    Ok(Beside { page, push })
}

/// The page of that run, if it was asked for. Says where it is.
fn served(
    asked: &PageArgs,
    store: Option<&Store>,
    processors: &[u32],
    common: &Common,
) -> Result<Option<Page>, Failure> {
    let Some(named) = asked.page else { return Ok(None) };
    let Some(store) = store else {
        return Err(wrong(anyhow!(
            "--page shows what the store keeps, and --no-store keeps nothing: leave one of them out"
        )));
    };
    let at = named.unwrap_or_default();
    let start =
        |at| Page::start(&Serving { store: store.path(), at, token: needed(at), beside: Some(processors) });
    let page = match start(at) {
        // Nobody has asked for this port: that of a `torment serve`, perhaps.
        Err(why) if why.kind() == io::ErrorKind::AddrInUse && named.is_none() => start(at.anywhere()),
        started => started,
    };
    let page = page.map_err(|why| refused(at, "--page=", &why))?;
    let mut lines = vec![Text::plain("  the page of this run: ").and(Tone::Strong, page.url())];
    if !page::is_built() {
        lines.push(Text::plain("  ").and(Tone::Warn, NOT_BUILT));
    }
    print(&mut io::stderr(), &lines, paper(io::stderr().is_terminal(), common))?;
    Ok(Some(page))
}

/// Where others could come, a token is asked of everybody.
fn needed(at: Address) -> Option<Token> {
    at.is_open().then(Token::random)
}

/// Why nothing can be served there, and what to do; `option` as it is typed before an address.
fn refused(at: Address, option: &str, why: &io::Error) -> Failure {
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
