//! Messages: posting, reading, editing, deleting, reacting and reporting.

use axum::{Json, body::Body as RequestBody, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::{
    board::{
        Action, Actor, Body, MessageRange, MessagesQuery, PAGE_MAX, Posted, Reaction, Visibility,
    },
    pictures::Shape,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    app::{BoardApp, message_id, message_id_of_field, slug},
    dto::{EventJson, MessageJson},
    extract::{CallingActor, MessagePath, RateLimitedActor},
    pages::signed_in::require_caller,
    submission::{Submission, SubmittedBody, store_message},
};
use crate::{
    error::HttpResult,
    json::{self, JsonBody},
    pictures,
    request::{PathParam, QueryParams, RequestContext, limit},
    responses::private,
};

/// The default `limit`.
const PAGE_DEFAULT: usize = 100;

/// A message to post.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PostMessage {
    /// The client's id of the message, made before the first attempt: 1 to 64 visible ASCII characters. A retry with
    /// the same id returns the original message, without a time limit.
    #[schema(example = "0f8e6c2a-5f0e-4e0b-9a3e-3c1d6a1b7f10")]
    client_id: String,
    /// 1 to 2,000 characters.
    #[schema(example = "Fresh snow!")]
    body: String,
    /// The id of the message that it replies to.
    reply_to: Option<String>,
}

/// A message to post, with a picture.
#[derive(ToSchema)]
#[expect(dead_code, reason = "documents the form, which is read field by field")]
pub(super) struct PostPicture {
    /// As in JSON.
    #[schema(example = "0f8e6c2a-5f0e-4e0b-9a3e-3c1d6a1b7f10")]
    client_id: String,
    /// At most 2,000 characters; may be empty with a picture.
    #[schema(required = false)]
    body: String,
    /// The id of the message that it replies to.
    reply_to: Option<String>,
    /// A JPEG, PNG, WebP or GIF file. Only the first frame of an animation is used.
    #[schema(format = Binary)]
    picture: String,
}

/// The new text of a message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditMessage {
    /// 1 to 2,000 characters.
    #[schema(example = "Fresh snow on lift 7!")]
    body: String,
}

/// Post a message.
///
/// A retry with the same `client_id` returns the original message, without a time limit. A form may contain a picture.
/// It is re-encoded at most 1,024 pixels a side, and at most 320 for a preview; metadata of the file, such as the
/// place, is not stored.
#[utoipa::path(post, path = "/api/board/{channel}/messages", operation_id = "post_message", tag = "messages",
    request_body(content((PostMessage = "application/json"), (PostPicture = "multipart/form-data"))),
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 201, body = EventJson), (status = 200, description = "Already stored; the original event, with a null body if the message is hidden or deleted", body = EventJson),
        (status = 400, description = "Invalid request; `detail` says why"), (status = 403, description = "The caller is banned from the board"),
        (status = 404, description = "No such channel, or no such message to reply to"), (status = 413, description = "The body is too large"),
        (status = 415, description = "The body is neither JSON nor a form"), (status = 422, description = "The client_id was used for another message"),
        (status = 429, description = "Too many messages, or too soon in slow mode; see Retry-After"), (status = 503, description = "Retry with the same client_id")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn post(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    asked: RequestContext,
    CallingActor(by): CallingActor,
    body: RequestBody,
) -> HttpResult {
    let mut letter = match SubmittedBody::read(&app, &asked, body).await? {
        SubmittedBody::Form(letter) => letter,
        SubmittedBody::Text(body) => {
            let PostMessage { client_id, body, reply_to } =
                json::body_of(&asked.headers, &body.bytes)?;
            let reply_to = reply_to.unwrap_or_default();
            Submission { client_id, body, reply_to, ..Submission::default() }
        }
    };
    let new = letter.message(slug(&channel)?)?;
    let posted = store_message(&app, &by, new, letter.picture.take()).await?;
    let status = match posted {
        Posted::New(_) => StatusCode::CREATED,
        Posted::Repeated(_) => StatusCode::OK,
    };
    Ok(private((status, Json(EventJson::from(posted.event())))))
}

/// Which messages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only messages before this one; the newest if absent.
    before: Option<String>,
    /// The most messages to return, 1 to 500; default 100.
    limit: Option<usize>,
}

/// A page of messages, in order.
#[derive(Serialize, ToSchema)]
pub(super) struct MessagesJson {
    messages: Vec<MessageJson>,
    /// The cursor after the newest page; continue with it on `stream` or `events`.
    #[schema(example = "7:42")]
    cursor: String,
    /// Whether there are earlier messages.
    more: bool,
}

/// List the messages of a channel.
///
/// The newest page, or the page before a message, in order.
#[utoipa::path(get, path = "/api/board/{channel}/messages", operation_id = "messages", tag = "messages",
    params(("channel" = String, Path, example = "lobby"), ListQuery),
    responses((status = 200, body = MessagesJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 404, description = "No such channel")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn list(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    QueryParams(query): QueryParams<ListQuery>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let before = query.before.filter(|before| !before.is_empty());
    let before = before.map(|id| message_id_of_field("before", &id)).transpose()?;
    let range = before.map_or(MessageRange::Newest, MessageRange::Before);
    let limit = limit("limit", query.limit, PAGE_DEFAULT, PAGE_MAX)?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    app.hub.record_activity(&channel, &by.profile);
    let query = MessagesQuery { channel, range, limit, reader: by.id() };
    let page = app.board.messages(query).await?;
    Ok(private(Json(MessagesJson {
        messages: page.messages.into_iter().map(Into::into).collect(),
        cursor: page.cursor.to_string(),
        more: page.more,
    })))
}

/// Get a message with its earlier versions.
#[utoipa::path(get, path = "/api/board/{channel}/messages/{id}", operation_id = "message", tag = "messages",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = MessageJson), (status = 404, description = "No such message")), security(("session" = []), ("bot" = [])))]
pub(super) async fn get(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    MessagePath(channel, id): MessagePath,
) -> HttpResult {
    let (message, history) = app.board.message(&by, &channel, id).await?;
    let history = if message.visibility == Visibility::Shown { history } else { Vec::new() };
    Ok(private(Json(MessageJson::from(message).with(history))))
}

/// Edit the caller's own message.
#[utoipa::path(patch, path = "/api/board/{channel}/messages/{id}", operation_id = "edit_message", tag = "messages", request_body = EditMessage,
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: the text is the same"), (status = 400, description = "The text is invalid; `detail` says why"),
        (status = 403, description = "Another account wrote the message, or it is hidden"), (status = 404, description = "No such message"),
        (status = 409, description = "The message was edited 50 times, which is the limit"), (status = 410, description = "The message is deleted"), (status = 429, description = "Too many requests; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn edit(
    State(app): State<BoardApp>,
    RateLimitedActor(by): RateLimitedActor,
    place: MessagePath,
    JsonBody(EditMessage { body }): JsonBody<EditMessage>,
) -> HttpResult {
    apply_action(&app, &by, place, Action::Edit(Body::parse(&body)?)).await
}

/// Delete the caller's own message and its text.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}", operation_id = "delete_message", tag = "messages",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: already deleted"), (status = 403, description = "Another account wrote the message"), (status = 404, description = "No such message")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn delete(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    place: MessagePath,
) -> HttpResult {
    apply_action(&app, &by, place, Action::Delete).await
}

/// Add a reaction to a message.
///
/// One of 👍 ❤️ 😂 🎉 😮 😢 👀 ⛷️.
#[utoipa::path(put, path = "/api/board/{channel}/messages/{id}/reactions/{reaction}", operation_id = "react", tag = "messages",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42"), ("reaction" = String, Path, example = "👍")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: already added"), (status = 400, description = "No such reaction"),
        (status = 403, description = "The message is hidden"), (status = 404, description = "No such message"), (status = 410, description = "The message is deleted"), (status = 429, description = "Too many requests; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn react(
    State(app): State<BoardApp>,
    RateLimitedActor(by): RateLimitedActor,
    PathParam(path): PathParam<(String, String, String)>,
) -> HttpResult {
    apply_reaction(&app, &by, path, false).await
}

/// Remove the caller's reaction.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}/reactions/{reaction}", operation_id = "unreact", tag = "messages",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42"), ("reaction" = String, Path, example = "👍")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: there was no such reaction"), (status = 400, description = "No such reaction"),
        (status = 403, description = "The message is hidden"), (status = 404, description = "No such message"), (status = 410, description = "The message is deleted"), (status = 429, description = "Too many requests; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn unreact(
    State(app): State<BoardApp>,
    RateLimitedActor(by): RateLimitedActor,
    PathParam(path): PathParam<(String, String, String)>,
) -> HttpResult {
    apply_reaction(&app, &by, path, true).await
}

async fn apply_reaction(
    app: &BoardApp,
    by: &Actor,
    (channel, id, reaction): (String, String, String),
    is_removed: bool,
) -> HttpResult {
    let action = Action::React { reaction: Reaction::parse(&reaction)?, is_removed };
    apply_action(app, by, MessagePath(slug(&channel)?, message_id(&id)?), action).await
}

/// Why a message is reported.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportMessage {
    /// At most 500 characters.
    #[serde(default)]
    #[schema(example = "Advertising")]
    reason: String,
}

/// Report a message to the moderators.
#[utoipa::path(post, path = "/api/board/{channel}/messages/{id}/reports", operation_id = "report_message", tag = "messages", request_body = ReportMessage,
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 204, description = "Reported; a second report of the same member changes nothing"), (status = 400, description = "The reason is invalid; `detail` says why"), (status = 404, description = "No such message"), (status = 429, description = "Too many requests; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn report(
    State(app): State<BoardApp>,
    RateLimitedActor(by): RateLimitedActor,
    MessagePath(channel, id): MessagePath,
    JsonBody(ReportMessage { reason }): JsonBody<ReportMessage>,
) -> HttpResult {
    app.board.report(&by, &channel, id, &reason).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Browsers revalidate a picture on each use: the message may be hidden or deleted, or the reader banned or signed out.
const REVALIDATE: &str = "private, no-cache";

/// Get the picture of a message.
///
/// The picture at a path never changes.
#[utoipa::path(get, path = "/board/-/pictures/{id}/{size}", operation_id = "message_picture", tag = "messages",
    params(("id" = String, Path, description = "The picture's id, from the message", example = "…"), ("size" = u32, Path, description = "1024 or 320, the most pixels a side", example = 1024)),
    responses((status = 200, description = "The picture", content_type = "image/jpeg"), (status = 404, description = "No such picture, or its message is not readable")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn picture(
    State(app): State<BoardApp>,
    PathParam((id, size)): PathParam<(String, String)>,
    asked: RequestContext,
) -> HttpResult {
    // A proxy's own credentials in `Authorization` are no token.
    let by = match asked.bearer().filter(|token| !token.is_empty()) {
        Some(_) => app.authenticate(&asked).await?.actor,
        None => require_caller(&app, &asked).await?.actor,
    };
    let (id, size) = pictures::named(&id, Shape::Whole, &size)?;
    let bytes = app.board.picture(&by, id, size).await?;
    pictures::answer(id, size, bytes, REVALIDATE, &asked.headers)
}

/// Applies an action to a message; 204 without an event if nothing changed.
pub(super) async fn apply_action(
    app: &BoardApp,
    by: &Actor,
    MessagePath(channel, id): MessagePath,
    action: Action,
) -> HttpResult {
    Ok(match app.board.apply(by, &channel, id, action).await? {
        Some(event) => private(Json(EventJson::from(&event))),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
