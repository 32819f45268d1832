//! Serves the page on a thread of its own until it is shut down.

use crate::access::AccessPolicy;
use crate::address::{Address, Token};
use crate::limited_listener::LimitedListener;
use crate::routes::{AppState, routes};
use crate::run_cache::RunCache;
use crate::stream::LINGER;
use record::RunId;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use sys::lower_priority;
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// Reader threads: reading a long run must not block the list.
const READER_THREADS: usize = 3;
/// Once all viewers have left, responses on their way have this long to arrive.
const LEAVE_TIMEOUT: Duration = Duration::from_millis(100);

/// Options of [`PageServer::start`].
#[derive(Debug)]
pub struct ServeOptions<'a> {
    /// The store's folder.
    pub store: &'a Path,
    /// Where to listen.
    pub at: Address,
    /// Required for access; without one, anybody who can reach the page has access.
    pub token: Option<Token>,
    /// A run goes on in this process: it is shown first, and the page avoids these processors, if there are others.
    pub load_cpus: Option<&'a [u32]>,
}

/// The running server. It ends when this is dropped.
#[derive(Debug)]
pub struct PageServer {
    url: String,
    cache: Arc<RunCache>,
    end_sender: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl PageServer {
    /// Starts to serve.
    ///
    /// # Errors
    /// If the address cannot be bound, or no thread started.
    pub fn start(options: &ServeOptions<'_>) -> io::Result<Self> {
        let listener = TcpListener::bind(options.at.0)?;
        listener.set_nonblocking(true)?;
        let at = listener.local_addr()?;
        let cache = Arc::new(RunCache::new(options.store));
        let (end_sender, end_receiver) = watch::channel(false);
        let state = AppState::new(Arc::clone(&cache), end_receiver);
        let policy = AccessPolicy::new(Address(at), options.token.clone());
        let load_cpus = options.load_cpus.map(<[u32]>::to_vec);
        let (start_sender, start_receiver) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("page".to_owned()).spawn(move || {
            if let Some(busy) = load_cpus {
                lower_priority(&busy);
            }
            match runtime() {
                Ok(runtime) => {
                    let _ = start_sender.send(Ok(()));
                    serve(&runtime, listener, state, policy);
                    // Readers that still run have nobody left to answer.
                    runtime.shutdown_background();
                }
                Err(why) => drop(start_sender.send(Err(why))),
            }
        })?;
        start_receiver.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended at once")))?;
        Ok(Self { url: url(at, options.token.as_ref()), cache, end_sender, thread: Some(thread) })
    }

    /// The URL for a browser, token included.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes this run the page's first from now on.
    pub fn set_home_run(&self, id: &RunId) {
        self.cache.set_home(id);
    }

    /// Tells all viewers of the end, for at most a second, and ends.
    pub fn shut_down(mut self) {
        self.end_sender.send_replace(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(READER_THREADS).build()
}

fn serve(runtime: &Runtime, listener: TcpListener, state: AppState, policy: AccessPolicy) {
    runtime.block_on(async move {
        // Already bound and non-blocking: nothing is left that could fail.
        let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
        let (leave, left) = watch::channel(false);
        let router = routes(state.clone(), policy);
        let server =
            axum::serve(LimitedListener::new(listener), router).with_graceful_shutdown(end_signalled(left));
        let server = tokio::spawn(server.into_future());
        end_signalled(state.end_signal()).await;
        if state.is_watched() {
            tokio::time::sleep(LINGER).await;
        }
        leave.send_replace(true);
        let _ = tokio::time::timeout(LEAVE_TIMEOUT, server).await;
    });
}

/// Waits for the signal. An error ends it as well: its sender is gone.
async fn end_signalled(mut signal: watch::Receiver<bool>) {
    let _ = signal.wait_for(|word| *word).await;
}

/// When listening on every address, the URL has the machine's name for others.
fn url(at: SocketAddr, token: Option<&Token>) -> String {
    let host = if at.ip().is_unspecified() {
        format!("{}:{}", rustix::system::uname().nodename().to_string_lossy(), at.port())
    } else {
        at.to_string()
    };
    let token = token.map_or_else(String::new, |token| format!("?token={}", token.text()));
    format!("http://{host}/{token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_can_be_opened() {
        let token: Token = "0123456789".parse().expect("a token");
        let url = |at: &str, token| url(at.parse().expect(at), token);
        assert_eq!(url("127.0.0.1:80", None), "http://127.0.0.1:80/");
        assert_eq!(url("[::1]:80", Some(&token)), "http://[::1]:80/?token=0123456789");
        let open = url("0.0.0.0:80", Some(&token));
        assert!(!open.contains("0.0.0.0") && open.ends_with(":80/?token=0123456789"), "{open}");
    }
}
