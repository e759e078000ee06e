//! Messages: written, read, and what can be done with them.

use axum::{Json, body::Body as RequestBody, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::{
    board::{Actor, Body, MessagesQuery, PAGE_MAX, Posted, Reaction, Visibility, Wish},
    pictures::Shape,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    app::{BoardApp, message_id, message_named, slug},
    dto::{EventJson, MessageJson},
    extract::{By, Place, Sender},
    letter::{Letter, Sent, posted},
    pages::me::reader,
};
use crate::{
    answers::private,
    error::HttpResult,
    json::{self, JsonBody},
    pictures,
    request::{Asked, Parameters, Segment, limit},
};

/// Messages on a page, if the caller does not say how many.
const PAGE_DEFAULT: usize = 100;

/// A message to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PostMessage {
    /// What you call it, made before it is first sent: 1 to 64 visible ASCII characters. The same again is answered
    /// with the first, for ever.
    #[schema(example = "0f8e6c2a-5f0e-4e0b-9a3e-3c1d6a1b7f10")]
    client_id: String,
    /// 1 to 2,000 characters.
    #[schema(example = "Fresh snow!")]
    body: String,
    /// The message that it answers.
    reply_to: Option<String>,
}

/// A message to be, with a picture.
#[derive(ToSchema)]
#[expect(dead_code, reason = "this says what a form has; it is read field by field")]
pub(super) struct PostPicture {
    /// As in JSON.
    #[schema(example = "0f8e6c2a-5f0e-4e0b-9a3e-3c1d6a1b7f10")]
    client_id: String,
    /// At most 2,000 characters; it may be empty beside a picture.
    #[schema(required = false)]
    body: String,
    /// The message that it answers.
    reply_to: Option<String>,
    /// The bytes of a JPEG, PNG, WebP or GIF. Of an animation the first frame is taken.
    #[schema(format = Binary)]
    picture: String,
}

/// A message, written anew.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditMessage {
    /// 1 to 2,000 characters.
    body: String,
}

/// Write a message.
///
/// The same `client_id` again, for ever, is answered with the message that it was given to. As a form it may bring a
/// picture, which is made anew within 1,024 pixels a side, and within 320 for a preview: nothing else of the file is
/// kept, such as where it was taken.
#[utoipa::path(post, path = "/api/board/{channel}/messages", operation_id = "post_message", tag = "board",
    request_body(content((PostMessage = "application/json"), (PostPicture = "multipart/form-data"))),
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 201, body = EventJson), (status = 200, description = "It was stored before; this is what it said at first, and null if that cannot be read any more", body = EventJson),
        (status = 400, description = "Something cannot be; the answer says what"), (status = 403, description = "You are banned from the board"),
        (status = 404, description = "There is no such channel, or no such message to answer"), (status = 413, description = "It is longer than is taken here"),
        (status = 415, description = "It is neither JSON nor a form"), (status = 422, description = "The client_id was given to another message"),
        (status = 429, description = "Too many, or too soon in slow mode; see Retry-After"), (status = 503, description = "Try again, with the same client_id")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn post(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    asked: Asked,
    By(by): By,
    body: RequestBody,
) -> HttpResult {
    let mut letter = match Sent::read(&app, &asked, body).await? {
        Sent::Form(letter) => letter,
        Sent::Text(body) => {
            let PostMessage { client_id, body, reply_to } =
                json::body_of(&asked.headers, &body.bytes)?;
            let reply_to = reply_to.unwrap_or_default();
            Letter { client_id, body, reply_to, ..Letter::default() }
        }
    };
    let new = letter.message(slug(&channel)?)?;
    let posted = posted(&app, &by, new, letter.picture.take()).await?;
    let status = match posted {
        Posted::New(_) => StatusCode::CREATED,
        Posted::Before(_) => StatusCode::OK,
    };
    Ok(private((status, Json(EventJson::from(posted.event())))))
}

/// Which messages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only those that stand before this one; the newest if absent.
    before: Option<String>,
    /// Messages on the page, 1 to 500; 100 if absent.
    limit: Option<usize>,
}

/// A page of messages, in order.
#[derive(Serialize, ToSchema)]
pub(super) struct MessagesJson {
    messages: Vec<MessageJson>,
    /// What a reader of the newest page has: go on with it on `stream`, or by `events`.
    cursor: String,
    /// Whether there are earlier ones.
    more: bool,
}

/// The messages of a channel as they stand, in order: the newest page, or the one before a message.
#[utoipa::path(get, path = "/api/board/{channel}/messages", operation_id = "messages", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ListQuery),
    responses((status = 200, body = MessagesJson), (status = 400, description = "Something cannot be; the answer says what"), (status = 404, description = "There is no such channel")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn list(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    Parameters(query): Parameters<ListQuery>,
    By(by): By,
) -> HttpResult {
    let before = query.before.filter(|before| !before.is_empty());
    let before = before.map(|id| message_named("before", &id)).transpose()?;
    let limit = limit("limit", query.limit, PAGE_DEFAULT, PAGE_MAX)?;
    let channel = app.board.channel(&slug(&channel)?).await?.slug;
    app.hub.seen(&channel, &by.profile);
    let query = MessagesQuery { channel, before, limit, reader: by.id() };
    let page = app.board.messages(query).await?;
    Ok(private(Json(MessagesJson {
        messages: page.messages.into_iter().map(Into::into).collect(),
        cursor: page.cursor.to_string(),
        more: page.more,
    })))
}

/// A message as it stands, and what it was before.
#[utoipa::path(get, path = "/api/board/{channel}/messages/{id}", operation_id = "message", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = MessageJson), (status = 404, description = "There is no such message")), security(("session" = []), ("bot" = [])))]
pub(super) async fn get(
    State(app): State<BoardApp>,
    By(by): By,
    Place(channel, id): Place,
) -> HttpResult {
    let (message, history) = app.board.message(&by, &channel, id).await?;
    let history = if message.visibility == Visibility::Shown { history } else { Vec::new() };
    Ok(private(Json(MessageJson::from(message).with(history))))
}

/// Write one's own message anew.
#[utoipa::path(patch, path = "/api/board/{channel}/messages/{id}", operation_id = "edit_message", tag = "board", request_body = EditMessage,
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "It said so already"), (status = 400, description = "It cannot say that"),
        (status = 403, description = "Somebody else wrote it, or it is hidden"), (status = 404, description = "There is no such message"),
        (status = 409, description = "It was edited 50 times"), (status = 410, description = "It is deleted"), (status = 429, description = "Too many; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn edit(
    State(app): State<BoardApp>,
    Sender(by): Sender,
    place: Place,
    JsonBody(EditMessage { body }): JsonBody<EditMessage>,
) -> HttpResult {
    amend(&app, &by, place, Wish::Edit(Body::parse(&body)?)).await
}

/// Delete one's own message; its text is gone.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}", operation_id = "delete_message", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "It was deleted already"), (status = 403, description = "Somebody else wrote it"), (status = 404, description = "There is no such message")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn delete(State(app): State<BoardApp>, By(by): By, place: Place) -> HttpResult {
    amend(&app, &by, place, Wish::Delete).await
}

/// Put a sign under a message, one of 👍 ❤️ 😂 🎉 😮 😢 👀 ⛷️.
#[utoipa::path(put, path = "/api/board/{channel}/messages/{id}/reactions/{reaction}", operation_id = "react", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42"), ("reaction" = String, Path, example = "👍")),
    responses((status = 200, body = EventJson), (status = 204, description = "It was there already"), (status = 400, description = "There is no such sign"),
        (status = 403, description = "The message is hidden"), (status = 404, description = "There is no such message"), (status = 410, description = "It is deleted"), (status = 429, description = "Too many; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn react(
    State(app): State<BoardApp>,
    Sender(by): Sender,
    Segment(path): Segment<(String, String, String)>,
) -> HttpResult {
    reacted(&app, &by, path, false).await
}

/// Take one's own sign away.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}/reactions/{reaction}", operation_id = "unreact", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42"), ("reaction" = String, Path, example = "👍")),
    responses((status = 200, body = EventJson), (status = 204, description = "It was not there"), (status = 400, description = "There is no such sign"),
        (status = 403, description = "The message is hidden"), (status = 404, description = "There is no such message"), (status = 410, description = "It is deleted"), (status = 429, description = "Too many; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn unreact(
    State(app): State<BoardApp>,
    Sender(by): Sender,
    Segment(path): Segment<(String, String, String)>,
) -> HttpResult {
    reacted(&app, &by, path, true).await
}

async fn reacted(
    app: &BoardApp,
    by: &Actor,
    (channel, id, reaction): (String, String, String),
    is_removed: bool,
) -> HttpResult {
    let wish = Wish::React { reaction: Reaction::parse(&reaction)?, is_removed };
    amend(app, by, Place(slug(&channel)?, message_id(&id)?), wish).await
}

/// Why somebody should look at a message.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportMessage {
    /// At most 500 characters.
    #[serde(default)]
    reason: String,
}

/// Ask whoever keeps order to look at a message.
#[utoipa::path(post, path = "/api/board/{channel}/messages/{id}/reports", operation_id = "report_message", tag = "board", request_body = ReportMessage,
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 204, description = "They are asked"), (status = 400, description = "The reason cannot be"), (status = 404, description = "There is no such message"), (status = 429, description = "Too many; see Retry-After")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn report(
    State(app): State<BoardApp>,
    Sender(by): Sender,
    Place(channel, id): Place,
    JsonBody(ReportMessage { reason }): JsonBody<ReportMessage>,
) -> HttpResult {
    app.board.report(&by, &channel, id, &reason).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A browser asks each time whether it may still show what it has: the message may be gone, or its reader.
const ASKED_AGAIN: &str = "private, no-cache";

/// The picture of a message, in one of its sizes. What is at one place never changes.
#[utoipa::path(get, path = "/board/-/pictures/{id}/{size}", operation_id = "message_picture", tag = "board",
    params(("id" = String, Path, description = "As the message says it"), ("size" = u32, Path, description = "1024 or 320: pixels a side at most")),
    responses((status = 200, description = "The picture", content_type = "image/jpeg"), (status = 404, description = "There is no such picture, or its message cannot be read")),
    security(("session" = []), ("bot" = [])))]
pub(super) async fn picture(
    State(app): State<BoardApp>,
    Segment((id, size)): Segment<(String, String)>,
    asked: Asked,
) -> HttpResult {
    // A proxy's own password is no token.
    let by = match asked.bearer().filter(|token| !token.is_empty()) {
        Some(_) => app.visitor(&asked).await?.actor,
        None => reader(&app, &asked).await?.actor,
    };
    let (id, size) = pictures::named(&id, Shape::Whole, &size)?;
    let bytes = app.board.picture(&by, id, size).await?;
    pictures::answer(id, size, bytes, ASKED_AGAIN, &asked.headers)
}

/// Does something with a message. Nothing is told if it was so already.
pub(super) async fn amend(
    app: &BoardApp,
    by: &Actor,
    Place(channel, id): Place,
    wish: Wish,
) -> HttpResult {
    Ok(match app.board.amend(by, &channel, id, wish).await? {
        Some(event) => private(Json(EventJson::from(&event))),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
