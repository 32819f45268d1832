//! A live run as server-sent events.
//!
//! A browser gets the difference between what it has and what there is, whenever it takes it. Nothing is queued for
//! it: a stalled one misses steps, never rows.

use crate::history;
use crate::html::json;
use crate::http_error::HttpError;
use crate::run_cache::{FollowedRun, SharedRun, lock, run_blocking};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde::Serialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use store::RunState;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;
use view::document::Timeline;

/// How often the store is polled; it commits at least once a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Minimum interval between updates of the front.
const FRONT_INTERVAL: Duration = Duration::from_secs(1);
/// Some proxies hang up after a longer silence.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A browser that has lost its connection returns after this.
const RETRY: Duration = Duration::from_secs(1);
/// A browser that was told of its run's end requests the whole run once more, and has this long to do so.
pub(crate) const LINGER: Duration = Duration::from_millis(900);
/// Maximum rows per event: even for a day-long run, no more than this is in memory for each browser.
const MAX_ROWS: usize = 2_000;

/// Which rows a browser has: the id of the last event with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientPosition {
    generation: u32,
    rows: usize,
}

impl ClientPosition {
    /// From `generation:rows`; None if malformed, which starts over.
    pub fn parse(id: &str) -> Option<Self> {
        let (generation, rows) = id.split_once(':')?;
        Some(Self { generation: generation.parse().ok()?, rows: rows.parse().ok()? })
    }

    fn id(self) -> String {
        format!("{}:{}", self.generation, self.rows)
    }
}

/// What is new at a poll.
#[derive(Debug)]
struct RunUpdate {
    front: Arc<str>,
    rows: Option<(ClientPosition, String)>,
    /// More rows are available already.
    more: bool,
    state: RunState,
}

/// Rows as sent to a browser.
#[derive(Serialize)]
struct Rows {
    generation: u32,
    from: usize,
    timeline: Timeline,
}

/// A response that lasts as long as the run.
pub(crate) fn events(
    run: SharedRun,
    position: Option<ClientPosition>,
    end_receiver: watch::Receiver<bool>,
    permit: OwnedSemaphorePermit,
) -> Response {
    // One on its way, one to follow: the sender waits for the reader.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        // Nothing more can be done for a browser that has left.
        let _ = EventSender { run, position, last_front: None, end_receiver, sender }.send_all().await;
        // A browser told of the end requests the whole run once more: until then it counts as a viewer.
        tokio::time::sleep(LINGER).await;
        drop(permit);
    });
    Sse::new(EventStream(receiver)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

/// Events on their way to a browser.
struct EventStream(mpsc::Receiver<Event>);

impl Stream for EventStream {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// The browser has left.
struct ClientGone;

/// Sends one run to one browser.
struct EventSender {
    run: SharedRun,
    position: Option<ClientPosition>,
    /// The last front sent, and when.
    last_front: Option<(Arc<str>, Instant)>,
    end_receiver: watch::Receiver<bool>,
    sender: mpsc::Sender<Event>,
}

impl EventSender {
    async fn send_all(mut self) -> Result<(), ClientGone> {
        let mut last = *self.end_receiver.borrow();
        loop {
            let update = match self.poll(last).await {
                Ok(update) => update,
                Err(refusal) => return self.send_end(json!({ "state": "gone", "error": refusal.why })).await,
            };
            let ended = update.state != RunState::Running;
            self.send_front(update.front, ended && !update.more).await?;
            if let Some((position, rows)) = update.rows {
                self.send(Event::default().event("rows").id(position.id()).data(rows)).await?;
                self.position = Some(position);
            }
            if update.more {
                continue;
            }
            if ended {
                return self.send_end(json!({ "state": history::state(update.state) })).await;
            }
            if last || self.sender.is_closed() {
                return Ok(());
            }
            // When the server ends, or the signal's sender is gone, there is a last poll at once.
            last = timeout(POLL_INTERVAL, self.end_receiver.wait_for(|ending| *ending)).await.is_ok();
        }
    }

    async fn poll(&self, now: bool) -> Result<RunUpdate, HttpError> {
        let (run, position) = (Arc::clone(&self.run), self.position);
        run_blocking(move || {
            let mut run = lock(&run);
            run.catch_up(now)?;
            Ok(next_update(&mut run, position))
        })
        .await
    }

    /// Sends the front if it has changed and is not too soon; the last one is always sent.
    async fn send_front(&mut self, front: Arc<str>, last: bool) -> Result<(), ClientGone> {
        let is_due = match &self.last_front {
            None => true,
            Some((sent, at)) => **sent != *front && (last || at.elapsed() >= FRONT_INTERVAL),
        };
        if !is_due {
            return Ok(());
        }
        let mut event = Event::default().event("front").data(&*front);
        if self.last_front.is_none() {
            event = event.retry(RETRY);
        }
        self.last_front = Some((front, Instant::now()));
        self.send(event).await
    }

    async fn send_end(&self, how: Value) -> Result<(), ClientGone> {
        self.send(Event::default().event("end").data(how.to_string())).await
    }

    /// Waits until the browser has taken the previous event.
    async fn send(&self, event: Event) -> Result<(), ClientGone> {
        self.sender.send(event).await.map_err(|_| ClientGone)
    }
}

fn next_update(run: &mut FollowedRun, position: Option<ClientPosition>) -> RunUpdate {
    let (generation, rows) = (run.pages.generation(), run.pages.rows());
    let known = position.filter(|position| position.generation == generation && position.rows <= rows);
    let from = known.map_or(0, |position| position.rows);
    let to = rows.min(from + MAX_ROWS);
    // In a new generation even zero rows are news: those that the browser has are invalid.
    let is_news = to > from || (known.is_none() && position.is_some());
    let new_rows = is_news.then(|| {
        let timeline = truncate_rows(run.pages.rows_from(from), to - from);
        let position = ClientPosition { generation, rows: to };
        (position, json(&Rows { generation, from, timeline }))
    });
    RunUpdate { front: run.front(), rows: new_rows, more: to < rows, state: run.state() }
}

/// The first `rows` rows.
fn truncate_rows(mut timeline: Timeline, rows: usize) -> Timeline {
    timeline.at.truncate(rows);
    timeline.columns.iter_mut().for_each(|column| column.values.truncate(rows));
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_where_to_go_on() {
        let position = ClientPosition { generation: 3, rows: 120 };
        assert_eq!(ClientPosition::parse(&position.id()), Some(position));
        for id in ["", "3", "3:", ":3", "a:b", "-1:2", "1:2:3", "99999999999999999999:1"] {
            assert_eq!(ClientPosition::parse(id), None, "{id}");
        }
    }
}
