//! What happened in a channel: page by page, and on a stream while it happens.

use axum::{Json, extract::State};
use lodge_domain::{
    Error, Result,
    board::{Cursor, PAGE_MAX, Reach},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    api::cursor,
    app::{BoardApp, slug},
    dto::EventJson,
    extract::By,
    shared::Audience,
    visitor::Visitor,
};
use crate::{
    answers::private,
    error::HttpResult,
    request::{self, Asked, Parameters, Segment},
};

/// Events on a page, if the caller does not say how many.
const PAGE_DEFAULT: usize = 100;

/// The header by which a stream goes on where another ended.
const LAST_EVENT_ID: &str = "last-event-id";

/// Which events: one of `after`, `before` and `tail`, or the first.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// The first after this cursor.
    after: Option<String>,
    /// The last before this cursor.
    before: Option<String>,
    /// So many of the last of all.
    tail: Option<usize>,
    /// Events on the page, 1 to 500; 100 if absent.
    limit: Option<usize>,
}

impl EventsQuery {
    fn parse(&self) -> Result<(Reach, usize)> {
        let limit = request::limit("limit", self.limit, PAGE_DEFAULT, PAGE_MAX)?;
        Ok(match (&self.after, &self.before, self.tail) {
            (None, None, None) => (Reach::After(Cursor::default()), limit),
            (Some(after), None, None) => (Reach::After(cursor("after", after)?), limit),
            (None, Some(before), None) => (Reach::Before(cursor("before", before)?), limit),
            (None, None, Some(tail)) => {
                (Reach::Tail, request::limit("tail", Some(tail), tail, PAGE_MAX)?)
            }
            _ => return Err(Error::invalid("query", "may hold one of after, before and tail")),
        })
    }
}

/// A page of events.
#[derive(Serialize, ToSchema)]
pub(super) struct EventsJson {
    events: Vec<EventJson>,
    /// What a reader has after them: go on with `after`.
    cursor: String,
    /// What a reader has before them: go back with `before`.
    start: String,
    /// Whether there is more in the direction that was asked for.
    more: bool,
}

/// Read what happened in a channel, in order.
///
/// What cannot be read any more is not in it, but its place is.
#[utoipa::path(get, path = "/api/board/{channel}/events", operation_id = "events", tag = "board",
    params(("channel" = String, Path, example = "lobby"), EventsQuery),
    responses((status = 200, body = EventsJson), (status = 400, description = "Something cannot be; the answer says what"), (status = 404, description = "There is no such channel")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn page(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    Parameters(query): Parameters<EventsQuery>,
    By(by): By,
) -> HttpResult {
    let (reach, limit) = query.parse()?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    app.hub.seen(&channel, &by.profile);
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
    /// What you have, where there is no `Last-Event-ID`; empty: nothing, so that all comes. Without either only what
    /// is new comes.
    after: Option<String>,
}

/// Hear what happens in a channel.
///
/// Server-sent events: first everything after the cursor, then what happens while it does. The id of an event is the
/// cursor that you have with it. Events that have a name carry no id: `people` (who is here, at the beginning), `join`,
/// `leave`, `person` (somebody is called otherwise), `gone` (an account is deleted; who wrote by that name has left), `heartbeat` (every 15 seconds if there is nothing else), and
/// `end` before the server ends the stream for good.
#[utoipa::path(get, path = "/api/board/{channel}/stream", operation_id = "hear_channel", tag = "board",
    params(("channel" = String, Path, example = "lobby"), StreamQuery, ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that you have")),
    responses((status = 200, description = "Each event's `data` is one of these, unless it has a name", content_type = "text/event-stream", body = EventJson),
        (status = 400, description = "There is no such cursor"), (status = 404, description = "There is no such channel"),
        (status = 429, description = "You have too many streams, or too many come from this address; see Retry-After"), (status = 503, description = "Too many listen; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn stream(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    Parameters(query): Parameters<StreamQuery>,
    asked: Asked,
    visitor: Visitor,
) -> HttpResult {
    let from = begin(&asked, query.after.as_deref())?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    Ok(app.hub.answer(&visitor, channel, from, asked.client, Audience::Programs).await?)
}

/// What a listener has; `None` if they want only what is new.
pub(super) fn begin(asked: &Asked, after: Option<&str>) -> Result<Option<Cursor>> {
    let last = asked.headers.get(LAST_EVENT_ID).map(|last| last.to_str().unwrap_or("?"));
    match last.filter(|last| !last.is_empty()) {
        Some(last) => cursor("Last-Event-ID", last).map(Some),
        None => after.map(|after| cursor("after", after)).transpose(),
    }
}
