//! Channels, who is in them, and what one has read and looks for.

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use lodge_domain::{
    Result,
    board::{Cursor, PAGE_MAX, ReadNote},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    app::{BoardApp, slug},
    dto::{ChannelJson, FoundJson, PeopleJson, UnreadJson},
    extract::By,
};
use crate::{
    answers::private,
    error::HttpResult,
    json::JsonBody,
    request::{Parameters, Segment, called, limit},
};

/// Messages that a search finds, if the caller does not say how many.
const FOUND_DEFAULT: usize = 50;

/// A cursor, of which `name` is the caller's name.
pub(super) fn cursor(name: &'static str, text: &str) -> Result<Cursor> {
    text.parse().map_err(|error| called(name, error))
}

/// All channels, the lobby first.
#[derive(Serialize, ToSchema)]
pub(super) struct ChannelsJson {
    channels: Vec<ChannelJson>,
}

/// All channels, the lobby first.
#[utoipa::path(get, path = "/api/board", operation_id = "channels", tag = "board",
    responses((status = 200, body = ChannelsJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn channels(State(app): State<BoardApp>, _: By) -> HttpResult {
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
    _: By,
) -> HttpResult {
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
    By(by): By,
) -> HttpResult {
    let channel = query.channel.as_deref().filter(|channel| !channel.is_empty());
    let channel = channel.map(slug).transpose()?;
    let limit = limit("limit", query.limit, FOUND_DEFAULT, PAGE_MAX)?;
    let found = app.searches.search(&by, channel, &query.q, limit).await?;
    let messages = found.into_iter().map(Into::into).collect();
    Ok(private(Json(FoundJson { messages })))
}

/// What one has not read.
#[utoipa::path(get, path = "/api/board/-/unread", operation_id = "unread", tag = "board",
    responses((status = 200, body = UnreadJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn unread(State(app): State<BoardApp>, By(by): By) -> HttpResult {
    let unread = app.board.unread(by.profile).await?;
    let channels = unread.into_iter().map(Into::into).collect();
    Ok(private(Json(UnreadJson { channels })))
}

/// How far one has read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteRead {
    /// A `cursor` of an answer, or the id of an event on a stream.
    cursor: String,
}

/// Note how far one has read. What was read before stays read. It is stored within seconds.
#[utoipa::path(put, path = "/api/board/{channel}/read", operation_id = "note_read", tag = "board", request_body = NoteRead,
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 204, description = "It is noted"), (status = 404, description = "There is no such channel")), security(("session" = []), ("bot" = [])))]
pub(super) async fn note_read(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    By(by): By,
    JsonBody(NoteRead { cursor: read }): JsonBody<NoteRead>,
) -> HttpResult {
    let read = cursor("cursor", &read)?;
    let channel = app.board.channel(&slug(&channel)?).await?;
    app.board.note_read(ReadNote { person: by.id(), channel: channel.slug, cursor: read })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
