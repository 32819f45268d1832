//! Lines of progress, on standard error: written by a thread of their own, so that no load waits for a terminal that was
//! stopped or a pipe that nobody reads.

use crate::args::CommonArgs;
use crate::paper;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use tui::{PrintStyle, print};
use view::Text;

/// Pieces of progress that wait to be written; a run makes one in some seconds. Further ones are left out: the summary has all
/// that they say.
const WAITING: usize = 256;

/// Says lines one after the other.
pub struct ProgressPrinter {
    lines: Option<SyncSender<Vec<Text>>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressPrinter {
    /// Fails if there can be no thread.
    pub fn start(common: &CommonArgs) -> io::Result<Self> {
        let (lines, waiting) = sync_channel::<Vec<Text>>(WAITING);
        let colour = paper(io::stderr().is_terminal(), common).colour;
        let thread = Builder::new().name("aloud".to_owned()).spawn(move || {
            for lines in waiting {
                let paper = PrintStyle { colour, ..PrintStyle::for_output(io::stderr().is_terminal()) };
                // Where nobody listens any longer there is nobody to tell that.
                let _ = print(&mut io::stderr(), &lines, paper);
            }
        })?;
        Ok(Self { lines: Some(lines), thread: Some(thread) })
    }

    /// Never waits.
    pub fn print(&self, lines: Vec<Text>) {
        if let Some(sender) = self.lines.as_ref().filter(|_| !lines.is_empty()) {
            let _ = sender.try_send(lines);
        }
    }
}

impl Drop for ProgressPrinter {
    /// All that was said is written before anything else is.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
