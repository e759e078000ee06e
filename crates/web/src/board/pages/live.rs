//! What the scripts of a page read and write: the stream, polling, unread counts, read positions and names.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::board::{EventRange, ReadPosition};
use serde::{Deserialize, Serialize};

use super::signed_in::require_caller;
use crate::{
    board::{
        api::cursor,
        app::{BoardApp, slug},
        caller::BoardCaller,
        dto::{PeopleJson, UnreadJson},
        events::start_cursor,
        page_event::{PageEventJson, page_event},
        shared::Audience,
    },
    body::FullBody,
    error::HttpResult,
    request::{self, PathParam, QueryParams, RequestContext},
    responses::private,
};

/// Events per response.
const PAGE: usize = 50;

/// The cursor of the page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    after: Option<String>,
}

/// `GET /board/{channel}/live`.
pub(super) async fn stream(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    QueryParams(After { after }): QueryParams<After>,
    asked: RequestContext,
) -> HttpResult {
    let visitor = require_caller(&app, &asked).await?;
    let from = start_cursor(&asked, after.as_deref())?;
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    Ok(app.hub.open_stream(&visitor, channel, from, asked.client, Audience::Pages).await?)
}

/// The events after a cursor.
#[derive(Serialize)]
struct SinceJson {
    events: Vec<PageEventJson>,
    cursor: String,
    more: bool,
}

/// `GET /board/{channel}/since`.
pub(super) async fn since(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    QueryParams(After { after }): QueryParams<After>,
    asked: RequestContext,
) -> HttpResult {
    let BoardCaller { actor, .. } = require_caller(&app, &asked).await?;
    let after = EventRange::After(cursor("after", after.as_deref().unwrap_or_default())?);
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    app.hub.record_activity(&channel, &actor.profile);
    let page = app.board.events(channel.clone(), after, PAGE).await?;
    let mut events = Vec::with_capacity(page.events.len());
    for event in &page.events {
        events.push(page_event(&app.board, &channel, event).await?);
    }
    Ok(private(Json(SinceJson { events, cursor: page.cursor.to_string(), more: page.more })))
}

/// `GET /board/-/unread`.
pub(super) async fn unread(State(app): State<BoardApp>, asked: RequestContext) -> HttpResult {
    let BoardCaller { actor, .. } = require_caller(&app, &asked).await?;
    let unread = app.board.unread(actor.profile).await?;
    let channels = unread.into_iter().map(Into::into).collect();
    Ok(private(Json(UnreadJson { channels })))
}

/// The beginning of a name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamesQuery {
    q: String,
}

/// `GET /board/-/names`: the members whose name begins with a typed text.
pub(super) async fn names(
    State(app): State<BoardApp>,
    QueryParams(NamesQuery { q }): QueryParams<NamesQuery>,
    asked: RequestContext,
) -> HttpResult {
    require_caller(&app, &asked).await?;
    Ok(private(Json(PeopleJson::from(app.board.members_with_prefix(&q).await?))))
}

/// A read position.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadForm {
    cursor: String,
}

/// `POST /board/{channel}/read`.
pub(super) async fn note_read(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let BoardCaller { actor, .. } = require_caller(&app, &asked).await?;
    let ReadForm { cursor } = request::form(&body)?;
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    let note = ReadPosition { person: actor.id(), channel, cursor: cursor.parse()? };
    app.board.mark_read(note)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
