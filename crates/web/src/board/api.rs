//! Channels, who is in them, and what one has read and looks for.

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use lodge_domain::{
    Error, Result,
    board::{Cursor, PAGE_MAX, ReadNote},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    app::{BoardApp, slug},
    dto::{ChannelJson, ChannelsJson, FoundJson, NoteRead, PeopleJson, UnreadJson},
};
use crate::{
    answers::private,
    body::Whole,
    error::HttpResult,
    request::{self, Asked, Parameters, Segment},
};

/// Messages that a search finds, if the caller does not say how many.
const FOUND_DEFAULT: usize = 50;

/// How many somebody asks for.
pub(super) fn limit(name: &'static str, asked: Option<usize>, default: usize) -> Result<usize> {
    let limit = asked.unwrap_or(default);
    if (1..=PAGE_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid(name, format!("must be 1 to {PAGE_MAX}")))
}

/// A cursor, of which `name` is the caller's name.
pub(super) fn cursor(name: &'static str, text: &str) -> Result<Cursor> {
    text.parse().map_err(|error| match error {
        Error::Invalid { reason, .. } => Error::invalid(name, reason),
        other => other,
    })
}

/// All channels, the lobby first.
#[utoipa::path(get, path = "/api/board", operation_id = "channels", tag = "board",
    responses((status = 200, body = ChannelsJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn channels(State(app): State<BoardApp>, asked: Asked) -> HttpResult {
    app.visitor(&asked).await?;
    let channels = app.board.channels().await?.into_iter();
    let channels = channels.map(ChannelJson::from).collect();
    Ok(private(Json(ChannelsJson { channels })))
}

/// Who is in a channel now.
#[utoipa::path(get, path = "/api/board/{channel}/people", operation_id = "people", tag = "board",
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 200, body = PeopleJson), (status = 404, description = "There is no such channel")), security(("session" = []), ("bot" = [])))]
pub(super) async fn people(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    asked: Asked,
) -> HttpResult {
    app.visitor(&asked).await?;
    let channel = app.board.channel(&slug(&channel)?).await?;
    let people = app.hub.here(&channel.slug).json();
    Ok(private(([(header::CONTENT_TYPE, "application/json")], people)))
}

/// Words to look for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// Words, all of which are in the message; one with a `*` at its end is the beginning of words. At most 8.
    q: String,
    /// In this channel alone.
    channel: Option<String>,
    /// Messages at most, 1 to 500; 50 if absent.
    limit: Option<usize>,
}

/// Search for messages, the newest first.
#[utoipa::path(get, path = "/api/board/-/search", operation_id = "search_messages", tag = "board", params(SearchQuery),
    responses((status = 200, body = FoundJson), (status = 400, description = "Something cannot be; the answer says what"),
        (status = 429, description = "You search already; see Retry-After"), (status = 503, description = "Too many search; see Retry-After")), security(("session" = []), ("bot" = [])))]
pub(super) async fn search(
    State(app): State<BoardApp>,
    Parameters(query): Parameters<SearchQuery>,
    asked: Asked,
) -> HttpResult {
    let by = app.visitor(&asked).await?.actor;
    let channel = query.channel.as_deref().filter(|channel| !channel.is_empty());
    let channel = channel.map(slug).transpose()?;
    let limit = limit("limit", query.limit, FOUND_DEFAULT)?;
    let found = app.searches.search(&by, channel, &query.q, limit).await?;
    let messages = found.into_iter().map(Into::into).collect();
    Ok(private(Json(FoundJson { messages })))
}

/// What one has not read.
#[utoipa::path(get, path = "/api/board/-/unread", operation_id = "unread", tag = "board",
    responses((status = 200, body = UnreadJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn unread(State(app): State<BoardApp>, asked: Asked) -> HttpResult {
    let by = app.visitor(&asked).await?.actor;
    let unread = app.board.unread(by.profile).await?;
    let channels = unread.into_iter().map(Into::into).collect();
    Ok(private(Json(UnreadJson { channels })))
}

/// Note how far one has read. What was read before stays read. It is stored within seconds.
#[utoipa::path(put, path = "/api/board/{channel}/read", operation_id = "note_read", tag = "board", request_body = NoteRead,
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 204, description = "It is noted"), (status = 404, description = "There is no such channel")), security(("session" = []), ("bot" = [])))]
pub(super) async fn note_read(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let by = app.visitor(&asked).await?.actor;
    let NoteRead { cursor: read } = request::json(&asked.headers, &body)?;
    let read = cursor("cursor", &read)?;
    let channel = app.board.channel(&slug(&channel)?).await?;
    app.board.note_read(ReadNote { person: by.id(), channel: channel.slug, cursor: read })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
