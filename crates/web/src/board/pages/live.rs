//! Live updates of a page: the stream, polling, unread counts and read positions.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::board::{Reach, ReadNote};
use serde::{Deserialize, Serialize};

use super::me::reader;
use crate::{
    answers::private,
    board::{
        api::cursor,
        app::{BoardApp, slug},
        dto::UnreadJson,
        events::begin,
        shared::Audience,
        shown::{ShownJson, shown},
        visitor::Visitor,
    },
    body::Whole,
    error::HttpResult,
    request::{self, Asked, Parameters, Segment},
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
    Segment(segment): Segment,
    Parameters(After { after }): Parameters<After>,
    asked: Asked,
) -> HttpResult {
    let visitor = reader(&app, &asked).await?;
    let from = begin(&asked, after.as_deref())?;
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    Ok(app.hub.answer(&visitor, channel, from, asked.client, Audience::Pages).await?)
}

/// The events after a cursor.
#[derive(Serialize)]
struct SinceJson {
    events: Vec<ShownJson>,
    cursor: String,
    more: bool,
}

/// `GET /board/{channel}/since`.
pub(super) async fn since(
    State(app): State<BoardApp>,
    Segment(segment): Segment,
    Parameters(After { after }): Parameters<After>,
    asked: Asked,
) -> HttpResult {
    let Visitor { actor, .. } = reader(&app, &asked).await?;
    let after = Reach::After(cursor("after", after.as_deref().unwrap_or_default())?);
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    app.hub.seen(&channel, &actor.profile);
    let page = app.board.events(channel.clone(), after, PAGE).await?;
    let mut events = Vec::with_capacity(page.events.len());
    for event in &page.events {
        events.push(shown(&app.board, &channel, event).await?);
    }
    Ok(private(Json(SinceJson { events, cursor: page.cursor.to_string(), more: page.more })))
}

/// `GET /board/-/unread`.
pub(super) async fn unread(State(app): State<BoardApp>, asked: Asked) -> HttpResult {
    let Visitor { actor, .. } = reader(&app, &asked).await?;
    let unread = app.board.unread(actor.profile).await?;
    let channels = unread.into_iter().map(Into::into).collect();
    Ok(private(Json(UnreadJson { channels })))
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
    Segment(segment): Segment,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let Visitor { actor, .. } = reader(&app, &asked).await?;
    let ReadForm { cursor } = request::form(&body)?;
    let channel = app.board.channel(&slug(&segment)?).await?.slug;
    let note = ReadNote { person: actor.id(), channel, cursor: cursor.parse()? };
    app.board.note_read(note)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
