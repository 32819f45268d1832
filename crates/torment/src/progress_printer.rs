//! Progress lines on standard error, written by their own thread, so that no load waits for a stopped terminal or a
//! pipe that nobody reads.

use crate::args::CommonArgs;
use crate::paper;
use std::io::{self, IsTerminal};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use tui::{PrintStyle, print};
use view::Text;

/// Queue length; a run makes one entry every few seconds. More are dropped: the summary has everything they say.
const QUEUE_LENGTH: usize = 256;

/// Prints lines in order.
pub struct ProgressPrinter {
    lines: Option<SyncSender<Vec<Text>>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressPrinter {
    /// Fails if the thread cannot be started.
    pub fn start(common: &CommonArgs) -> io::Result<Self> {
        let (lines, waiting) = sync_channel::<Vec<Text>>(QUEUE_LENGTH);
        let colour = paper(io::stderr().is_terminal(), common).colour;
        let thread = Builder::new().name("aloud".to_owned()).spawn(move || {
            for lines in waiting {
                let paper = PrintStyle { colour, ..PrintStyle::for_output(io::stderr().is_terminal()) };
                // If nobody reads any longer, there is nobody to tell.
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
    /// Everything queued is written before any further output.
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
