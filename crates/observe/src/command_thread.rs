use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A thread that follows commands, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct CommandThread<C> {
    commands: Option<Sender<C>>,
    thread: Option<JoinHandle<()>>,
}

impl<C: Send + 'static> CommandThread<C> {
    /// Starts it; `work` must end when the channel of its commands is closed.
    ///
    /// Fails if no thread can be started.
    pub fn start(name: &str, work: impl FnOnce(&Receiver<C>) + Send + 'static) -> io::Result<Self> {
        let (commands, inbox) = channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&inbox))?;
        Ok(Self { commands: Some(commands), thread: Some(thread) })
    }

    pub fn send(&self, command: C) {
        if let Some(commands) = &self.commands {
            // It only ends when told to, or if it can do nothing at all.
            let _ = commands.send(command);
        }
    }
}

impl<C> Drop for CommandThread<C> {
    fn drop(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has reported that; the load matters more than its watch.
            let _ = thread.join();
        }
    }
}
