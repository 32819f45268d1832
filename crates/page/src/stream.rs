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
use serde_json::json;
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
const LOOK: Duration = Duration::from_millis(500);
/// Minimum interval between updates of the front.
const FRONT: Duration = Duration::from_secs(1);
/// Some proxies hang up after a longer silence.
const ALIVE: Duration = Duration::from_secs(15);
/// A browser that has lost its connection returns after this.
const RETRY: Duration = Duration::from_secs(1);
/// A browser that was told of its run's end requests the whole run once more, and has this long to do so.
pub(crate) const PARTING: Duration = Duration::from_millis(900);
/// Maximum rows per event: even for a day-long run, no more than this is in memory for each browser.
const MOST: usize = 2_000;

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
    seen: Option<ClientPosition>,
    over: watch::Receiver<bool>,
    room: OwnedSemaphorePermit,
) -> Response {
    // One on its way, one to follow: the sender waits for the reader.
    let (to, told) = mpsc::channel(1);
    tokio::spawn(async move {
        // Nothing more can be done for a browser that has left.
        let _ = EventSender { run, seen, front: None, over, to }.tell().await;
        // A browser told of the end requests the whole run once more: until then it counts as a viewer.
        tokio::time::sleep(PARTING).await;
        drop(room);
    });
    Sse::new(EventStream(told)).keep_alive(KeepAlive::new().interval(ALIVE)).into_response()
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
    seen: Option<ClientPosition>,
    /// The last front sent, and when.
    front: Option<(Arc<str>, Instant)>,
    over: watch::Receiver<bool>,
    to: mpsc::Sender<Event>,
}

impl EventSender {
    async fn tell(mut self) -> Result<(), ClientGone> {
        let mut last = *self.over.borrow();
        loop {
            let step = match self.look(last).await {
                Ok(step) => step,
                Err(refusal) => {
                    let why = json!({ "state": "gone", "error": refusal.why });
                    return self.send(Event::default().event("end").data(why.to_string())).await;
                }
            };
            let ended = step.state != RunState::Running;
            self.say_front(step.front, ended && !step.more).await?;
            if let Some((seen, rows)) = step.rows {
                self.send(Event::default().event("rows").id(seen.id()).data(rows)).await?;
                self.seen = Some(seen);
            }
            if step.more {
                continue;
            }
            if ended {
                let how = json!({ "state": history::state(step.state) });
                return self.send(Event::default().event("end").data(how.to_string())).await;
            }
            if last || self.to.is_closed() {
                return Ok(());
            }
            // When the server ends, or the signal's sender is gone, there is a last poll at once.
            last = timeout(LOOK, self.over.wait_for(|over| *over)).await.is_ok();
        }
    }

    async fn look(&self, now: bool) -> Result<RunUpdate, HttpError> {
        let (run, seen) = (Arc::clone(&self.run), self.seen);
        run_blocking(move || {
            let mut run = lock(&run);
            run.catch_up(now)?;
            Ok(step(&mut run, seen))
        })
        .await
    }

    /// Sends the front if it has changed and is not too soon; the last one is always sent.
    async fn say_front(&mut self, front: Arc<str>, last: bool) -> Result<(), ClientGone> {
        let is_due = match &self.front {
            None => true,
            Some((said, at)) => **said != *front && (last || at.elapsed() >= FRONT),
        };
        if !is_due {
            return Ok(());
        }
        let mut event = Event::default().event("front").data(&*front);
        if self.front.is_none() {
            event = event.retry(RETRY);
        }
        self.front = Some((front, Instant::now()));
        self.send(event).await
    }

    /// Waits until the browser has taken the previous event.
    async fn send(&self, event: Event) -> Result<(), ClientGone> {
        self.to.send(event).await.map_err(|_| ClientGone)
    }
}

fn step(run: &mut FollowedRun, seen: Option<ClientPosition>) -> RunUpdate {
    let (generation, rows) = (run.pages.generation(), run.pages.rows());
    let known = seen.filter(|seen| seen.generation == generation && seen.rows <= rows);
    let from = known.map_or(0, |seen| seen.rows);
    let to = rows.min(from + MOST);
    // In a new generation even zero rows are news: those that the browser has are invalid.
    let is_news = to > from || (known.is_none() && seen.is_some());
    let told = is_news.then(|| {
        let timeline = cut(run.pages.rows_from(from), to - from);
        let seen = ClientPosition { generation, rows: to };
        (seen, json(&Rows { generation, from, timeline }))
    });
    RunUpdate { front: run.front(), rows: told, more: to < rows, state: run.state() }
}

/// The first `rows` rows.
fn cut(mut timeline: Timeline, rows: usize) -> Timeline {
    timeline.at.truncate(rows);
    timeline.columns.iter_mut().for_each(|column| column.values.truncate(rows));
    timeline
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_where_to_go_on() {
        let seen = ClientPosition { generation: 3, rows: 120 };
        assert_eq!(ClientPosition::parse(&seen.id()), Some(seen));
        for id in ["", "3", "3:", ":3", "a:b", "-1:2", "1:2:3", "99999999999999999999:1"] {
            assert_eq!(ClientPosition::parse(id), None, "{id}");
        }
    }
}
