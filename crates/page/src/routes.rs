//! The routes. Everything is read-only.

use crate::access::{self, AccessPolicy};
use crate::html::{PAGE, json};
use crate::http_error::HttpError;
use crate::run_cache::{RunCache, run_blocking};
use crate::stream::{self, ClientPosition};
use crate::{compare, history};
use axum::extract::{Path, Query, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use view::metrics::ExpositionFormat;

/// Maximum concurrent browsers following runs: each has a task that polls twice a second.
const MAX_STREAMS: usize = 64;

/// State shared by all handlers.
#[derive(Debug, Clone)]
pub(crate) struct AppState {
    cache: Arc<RunCache>,
    /// Whether the server is ending.
    end_receiver: watch::Receiver<bool>,
    streams: Arc<Semaphore>,
}

impl AppState {
    pub fn new(cache: Arc<RunCache>, end_receiver: watch::Receiver<bool>) -> Self {
        Self { cache, end_receiver, streams: Arc::new(Semaphore::new(MAX_STREAMS)) }
    }

    /// Signals that the server is ending.
    pub fn end_signal(&self) -> watch::Receiver<bool> {
        self.end_receiver.clone()
    }

    /// Whether any browser is following a run right now.
    pub fn is_watched(&self) -> bool {
        self.streams.available_permits() < MAX_STREAMS
    }
}

/// The page and its API.
pub(crate) fn routes(state: AppState, policy: AccessPolicy) -> Router {
    Router::new()
        .route("/", get(|| async { Html(PAGE) }))
        .route("/api/home", get(home))
        .route("/api/history", get(list_runs))
        .route("/api/runs/{id}", get(document))
        .route("/api/runs/{id}/events", get(events))
        .route("/api/runs/{id}/picture.svg", get(picture))
        .route("/api/compare", get(compared))
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(state)
        .layer(middleware::from_fn_with_state(Arc::new(policy), access::check_access))
}

async fn home(State(state): State<AppState>) -> Json<Value> {
    let home = state.cache.home().map_or_else(|| "#/".to_owned(), |id| format!("#/runs/{id}"));
    Json(json!({ "home": home }))
}

async fn list_runs(
    State(state): State<AppState>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Json<Value>, HttpError> {
    run_blocking(move || history::history(&state.cache.store()?, &query)).await.map(Json)
}

async fn document(State(state): State<AppState>, Path(id): Path<String>) -> Result<Response, HttpError> {
    let found = run_blocking(move || Ok(json(&state.cache.document(&id)?)));
    Ok(as_json(found.await?))
}

/// The picture of a run's result, as `torment report -o FILE.svg` writes it. For several runs, separated by commas,
/// how they differ.
async fn picture(State(state): State<AppState>, Path(ids): Path<String>) -> Result<Response, HttpError> {
    let found = run_blocking(move || {
        let document = if ids.contains(',') {
            compare::compare(&state.cache, &ids)?
        } else {
            state.cache.document(&ids)?
        };
        view::svg(&document).ok_or_else(|| {
            HttpError::new(StatusCode::NOT_FOUND, "this run has no picture: nothing was measured yet")
        })
    });
    Ok(([(CONTENT_TYPE, "image/svg+xml")], found.await?).into_response())
}

async fn events(
    State(state): State<AppState>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, HttpError> {
    let Ok(permit) = Arc::clone(&state.streams).try_acquire_owned() else {
        let why = format!(
            "{MAX_STREAMS} browsers are already watching; close one, or reload the page to see the run as it stands"
        );
        return Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, why));
    };
    let run = run_blocking(move || state.cache.run(&id)).await?;
    let position =
        headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(ClientPosition::parse);
    Ok(stream::events(run, position, state.end_receiver, permit))
}

async fn compared(
    State(state): State<AppState>,
    Query(query): Query<HashMap<String, String>>,
) -> Result<Response, HttpError> {
    let found = run_blocking(move || {
        let runs = query.get("runs").map(String::as_str).unwrap_or_default();
        Ok(json(&compare::compare(&state.cache, runs)?))
    });
    Ok(as_json(found.await?))
}

async fn metrics(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, HttpError> {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|kind| kind.to_str().ok());
    let form = ExpositionFormat::from_accept(&accepted.collect::<Vec<_>>().join(","));
    let found = run_blocking(move || state.cache.metrics(form)).await?;
    Ok(([(CONTENT_TYPE, form.content_type())], found).into_response())
}

async fn not_found() -> HttpError {
    HttpError::new(
        StatusCode::NOT_FOUND,
        "there is nothing at this address; the page is at /, its data at /api/history, /api/runs/ID, \
         /api/runs/ID/events, /api/runs/ID/picture.svg and /api/compare?runs=A,B, metrics at /metrics",
    )
}

async fn method_not_allowed() -> HttpError {
    HttpError::new(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered here")
}

fn as_json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
