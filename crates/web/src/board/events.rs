//! The events of a channel: in pages, and live on a stream.

use axum::{Json, extract::State};
use lodge_domain::{
    Error, Result,
    board::{Cursor, EventRange, PAGE_MAX},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    api::cursor,
    app::{BoardApp, slug},
    caller::BoardCaller,
    dto::EventJson,
    extract::CallingActor,
    shared::Audience,
};
use crate::{
    error::HttpResult,
    request::{self, PathParam, QueryParams, RequestContext},
    responses::private,
};

/// The default `limit`.
const PAGE_DEFAULT: usize = 100;

/// The header with which a reconnecting client resumes a stream.
const LAST_EVENT_ID: &str = "last-event-id";

/// Which events: at most one of `after`, `before` and `tail`; without any, from the first.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// The first events after this cursor.
    after: Option<String>,
    /// The last events before this cursor.
    before: Option<String>,
    /// The newest events, 1 to 500.
    tail: Option<usize>,
    /// The most events to return, 1 to 500; default 100.
    limit: Option<usize>,
}

impl EventsQuery {
    fn parse(&self) -> Result<(EventRange, usize)> {
        let limit = request::limit("limit", self.limit, PAGE_DEFAULT, PAGE_MAX)?;
        Ok(match (&self.after, &self.before, self.tail) {
            (None, None, None) => (EventRange::After(Cursor::default()), limit),
            (Some(after), None, None) => (EventRange::After(cursor("after", after)?), limit),
            (None, Some(before), None) => (EventRange::Before(cursor("before", before)?), limit),
            (None, None, Some(tail)) => {
                (EventRange::Tail, request::limit("tail", Some(tail), tail, PAGE_MAX)?)
            }
            _ => {
                return Err(Error::invalid("query", "takes one of after, before and tail"));
            }
        })
    }
}

/// A page of events.
#[derive(Serialize, ToSchema)]
pub(super) struct EventsJson {
    events: Vec<EventJson>,
    /// The cursor after the page; pass it as `after` for the next page.
    #[schema(example = "7:42")]
    cursor: String,
    /// The cursor before the page; pass it as `before` for the previous page.
    #[schema(example = "7:41")]
    start: String,
    /// Whether there are more events in the requested direction.
    more: bool,
}

/// List the events of a channel, in order.
///
/// A deleted or hidden message keeps its place, without its text.
#[utoipa::path(get, path = "/api/board/{channel}/events", operation_id = "events", tag = "events",
    params(("channel" = String, Path, example = "lobby"), EventsQuery),
    responses((status = 200, body = EventsJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 404, description = "No such channel")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn page(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    QueryParams(query): QueryParams<EventsQuery>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let (reach, limit) = query.parse()?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    app.hub.record_activity(&channel, &by.profile);
    let page = app.board.events(channel, reach, limit).await?;
    Ok(private(Json(EventsJson {
        events: page.events.iter().map(EventJson::from).collect(),
        cursor: page.cursor.to_string(),
        start: page.start.to_string(),
        more: page.more,
    })))
}

/// Where a stream begins.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StreamQuery {
    /// Resume after this cursor, unless there is a `Last-Event-ID`; empty: replay from the first event. Without
    /// either, only new events are sent.
    after: Option<String>,
}

/// Stream the events of a channel.
///
/// Server-sent events: first all events after the cursor, then live ones. The id of an event is the cursor after it.
/// Events with a name carry no id: `people` (the members in the channel, at the beginning), `join`, `leave`, `person`
/// (a member's profile changed), `gone` (an account was deleted; its messages stay without its name),
/// `heartbeat` (after 15 seconds without an event), and `end` (the server ends the stream for good; do not reconnect).
#[utoipa::path(get, path = "/api/board/{channel}/stream", operation_id = "hear_channel", tag = "events",
    params(("channel" = String, Path, example = "lobby"), StreamQuery, ("Last-Event-ID" = Option<String>, Header, description = "The id of the last received event")),
    responses((status = 200, description = "The `data` of each event without a name", content_type = "text/event-stream", body = EventJson),
        (status = 400, description = "The cursor is invalid"), (status = 404, description = "No such channel"),
        (status = 429, description = "Too many streams of this account or bot, or of this address; see Retry-After"), (status = 503, description = "Too many streams; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn stream(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    QueryParams(query): QueryParams<StreamQuery>,
    asked: RequestContext,
    visitor: BoardCaller,
) -> HttpResult {
    let from = start_cursor(&asked, query.after.as_deref())?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    Ok(app.hub.open_stream(&visitor, channel, from, asked.client, Audience::Programs).await?)
}

/// Parses the cursor at which a stream begins; `None` for new events only.
pub(super) fn start_cursor(asked: &RequestContext, after: Option<&str>) -> Result<Option<Cursor>> {
    let last = asked.headers.get(LAST_EVENT_ID).map(|last| last.to_str().unwrap_or("?"));
    match last.filter(|last| !last.is_empty()) {
        Some(last) => cursor("Last-Event-ID", last).map(Some),
        None => after.map(|after| cursor("after", after)).transpose(),
    }
}
