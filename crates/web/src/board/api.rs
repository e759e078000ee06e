//! Channels: the list, presence, read positions, unread counts and search.

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use lodge_domain::{
    Result,
    board::{Cursor, PAGE_MAX, ReadPosition},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    app::{BoardApp, slug},
    dto::{ChannelJson, FoundJson, PeopleJson, UnreadJson},
    extract::CallingActor,
};
use crate::{
    error::HttpResult,
    json::JsonBody,
    request::{PathParam, QueryParams, limit, with_field_name},
    responses::private,
};

/// The default `limit` of a search.
const SEARCH_LIMIT_DEFAULT: usize = 50;

/// Parses a cursor; `name` is the parameter that an error names.
pub(super) fn cursor(name: &'static str, text: &str) -> Result<Cursor> {
    text.parse().map_err(|error| with_field_name(name, error))
}

/// All channels, lobby first.
#[derive(Serialize, ToSchema)]
pub(super) struct ChannelsJson {
    channels: Vec<ChannelJson>,
}

/// List all channels, lobby first.
#[utoipa::path(get, path = "/api/board", operation_id = "channels", tag = "channels",
    responses((status = 200, body = ChannelsJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn channels(State(app): State<BoardApp>, _: CallingActor) -> HttpResult {
    let channels = app.board.channels().await?.into_iter();
    let channels = channels.map(ChannelJson::from).collect();
    Ok(private(Json(ChannelsJson { channels })))
}

/// List the members who are in a channel now.
#[utoipa::path(get, path = "/api/board/{channel}/people", operation_id = "people", tag = "channels",
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 200, body = PeopleJson), (status = 404, description = "No such channel")), security(("session" = []), ("bot" = [])))]
pub(super) async fn people(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    _: CallingActor,
) -> HttpResult {
    let channel = app.board.channel(&slug(&channel)?).await?;
    let people = app.hub.people(&channel.slug).json();
    Ok(private(([(header::CONTENT_TYPE, "application/json")], people)))
}

/// What to search for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    /// At most 8 words, all of which a message must contain; `clos*` matches words that begin with `clos`.
    #[param(example = "snow")]
    q: String,
    /// Search in this channel only.
    channel: Option<String>,
    /// The most messages to return, 1 to 500; default 50.
    limit: Option<usize>,
}

/// Search messages, newest first.
#[utoipa::path(get, path = "/api/board/-/search", operation_id = "search_messages", tag = "messages", params(SearchQuery),
    responses((status = 200, body = FoundJson), (status = 400, description = "Invalid request; `detail` says why"),
        (status = 429, description = "Too many searches of this account or bot at once; see Retry-After"), (status = 503, description = "Too many searches; see Retry-After")), security(("session" = []), ("bot" = [])))]
pub(super) async fn search(
    State(app): State<BoardApp>,
    QueryParams(query): QueryParams<SearchQuery>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let channel = query.channel.as_deref().filter(|channel| !channel.is_empty());
    let channel = channel.map(slug).transpose()?;
    let limit = limit("limit", query.limit, SEARCH_LIMIT_DEFAULT, PAGE_MAX)?;
    let found = app.searches.search(&by, channel, &query.q, limit).await?;
    let messages = found.into_iter().map(Into::into).collect();
    Ok(private(Json(FoundJson { messages })))
}

/// Count unread messages and mentions.
#[utoipa::path(get, path = "/api/board/-/unread", operation_id = "unread", tag = "channels",
    responses((status = 200, body = UnreadJson)), security(("session" = []), ("bot" = [])))]
pub(super) async fn unread(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let unread = app.board.unread(by.profile).await?;
    let channels = unread.into_iter().map(Into::into).collect();
    Ok(private(Json(UnreadJson { channels })))
}

/// A read position.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoteRead {
    /// The `cursor` of a response, or the id of an event on a stream.
    #[schema(example = "7:42")]
    cursor: String,
}

/// Mark a channel as read up to a cursor.
///
/// A position never moves back. It is stored within seconds.
#[utoipa::path(put, path = "/api/board/{channel}/read", operation_id = "note_read", tag = "channels", request_body = NoteRead,
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 204, description = "Noted"), (status = 404, description = "No such channel")), security(("session" = []), ("bot" = [])))]
pub(super) async fn note_read(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    CallingActor(by): CallingActor,
    JsonBody(NoteRead { cursor: read }): JsonBody<NoteRead>,
) -> HttpResult {
    let read = cursor("cursor", &read)?;
    let channel = app.board.channel(&slug(&channel)?).await?;
    app.board.mark_read(ReadPosition { person: by.id(), channel: channel.slug, cursor: read })?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
