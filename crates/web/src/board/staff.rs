//! What moderators and admins do. The service asks for the role.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::Username,
    board::{Actor, ChannelChange, Known, PAGE_MAX, Report, Slug, Topic, Wish},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    app::{BoardApp, slug},
    dto::{ChannelJson, EventJson, FoundJson, MessageJson, PersonJson},
    extract::{By, Place},
    messages::amend,
};
use crate::{answers::private, error::HttpResult, json::JsonBody, request::Segment};

/// A channel to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateChannel {
    /// 1 to 32 letters (a to z), digits and hyphens.
    #[schema(example = "lift-7")]
    channel: String,
    /// What it is about, at most 200 characters.
    #[serde(default)]
    topic: String,
}

/// A change; what is absent stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditChannel {
    topic: Option<String>,
    /// Seconds that must lie between two messages of one person, at most six hours; 0 is no limit.
    slow_mode_s: Option<u32>,
    /// Whether nobody writes there any more; it can still be read.
    archived: Option<bool>,
}

/// Make a channel.
#[utoipa::path(post, path = "/api/board", operation_id = "create_channel", tag = "board", request_body = CreateChannel,
    responses((status = 201, body = ChannelJson), (status = 200, description = "It is there already; nothing changed", body = ChannelJson),
        (status = 400, description = "Something cannot be; the answer says what"), (status = 403, description = "This is for moderators and admins"), (status = 409, description = "There are as many as there may be")),
    security(("session" = [])))]
pub(super) async fn create_channel(
    State(app): State<BoardApp>,
    By(by): By,
    JsonBody(CreateChannel { channel, topic }): JsonBody<CreateChannel>,
) -> HttpResult {
    let (slug, topic) = (Slug::parse(&channel)?, Topic::parse(&topic)?);
    let (channel, is_new) = app.board.create_channel(&by, slug, topic).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(private((status, Json(ChannelJson::from(channel)))))
}

/// Change a channel.
#[utoipa::path(patch, path = "/api/board/{channel}", operation_id = "edit_channel", tag = "board", request_body = EditChannel,
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 200, body = ChannelJson), (status = 400, description = "Something cannot be; the answer says what"), (status = 403, description = "This is for moderators and admins"), (status = 404, description = "There is no such channel")),
    security(("session" = [])))]
pub(super) async fn edit_channel(
    State(app): State<BoardApp>,
    Segment(channel): Segment,
    By(by): By,
    JsonBody(EditChannel { topic, slow_mode_s, archived }): JsonBody<EditChannel>,
) -> HttpResult {
    let topic = topic.map(|topic| Topic::parse(&topic)).transpose()?;
    let change = ChannelChange { topic, slow_mode_s, is_archived: archived };
    let channel = app.board.change_channel(&by, &slug(&channel)?, change).await?;
    Ok(private(Json(ChannelJson::from(channel))))
}

/// Hide a message from everybody but those who keep order.
#[utoipa::path(put, path = "/api/board/{channel}/messages/{id}/hidden", operation_id = "hide_message", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "It was hidden already"), (status = 403, description = "This is for moderators and admins"),
        (status = 404, description = "There is no such message"), (status = 410, description = "It is deleted")),
    security(("session" = [])))]
pub(super) async fn hide(State(app): State<BoardApp>, By(by): By, place: Place) -> HttpResult {
    amend(&app, &by, place, Wish::Hide(true)).await
}

/// Show a message again.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}/hidden", operation_id = "show_message", tag = "board",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "It was shown already"), (status = 403, description = "This is for moderators and admins"),
        (status = 404, description = "There is no such message"), (status = 410, description = "It is deleted")),
    security(("session" = [])))]
pub(super) async fn show(State(app): State<BoardApp>, By(by): By, place: Place) -> HttpResult {
    amend(&app, &by, place, Wish::Hide(false)).await
}

/// What people want looked at, the oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct ReportsJson {
    reports: Vec<ReportJson>,
}

/// A message that somebody wants looked at.
#[derive(Serialize, ToSchema)]
pub(super) struct ReportJson {
    id: i64,
    message: MessageJson,
    by: PersonJson,
    reason: String,
    at: Timestamp,
}

impl From<Report> for ReportJson {
    fn from(report: Report) -> Self {
        Self {
            id: report.id,
            message: report.message.into(),
            by: report.by.into(),
            reason: report.reason,
            at: report.at,
        }
    }
}

/// Who is banned from the board.
#[derive(Serialize, ToSchema)]
pub(super) struct BansJson {
    bans: Vec<BanJson>,
}

/// Somebody who is banned from the board.
#[derive(Serialize, ToSchema)]
pub(super) struct BanJson {
    person: PersonJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    banned_at: Option<Timestamp>,
}

impl From<Known> for BanJson {
    fn from(known: Known) -> Self {
        Self { person: known.profile.into(), banned_at: known.banned_at }
    }
}

/// What people want looked at, the oldest first; 500 at most.
#[utoipa::path(get, path = "/api/board/-/reports", operation_id = "reports", tag = "board",
    responses((status = 200, body = ReportsJson), (status = 403, description = "This is for moderators and admins")), security(("session" = [])))]
pub(super) async fn reports(State(app): State<BoardApp>, By(by): By) -> HttpResult {
    let reports = app.board.reports(&by, PAGE_MAX).await?.into_iter();
    Ok(private(Json(ReportsJson { reports: reports.map(Into::into).collect() })))
}

/// What is hidden, with what it says, the newest first; 500 at most.
#[utoipa::path(get, path = "/api/board/-/hidden", operation_id = "hidden_messages", tag = "board",
    responses((status = 200, body = FoundJson), (status = 403, description = "This is for moderators and admins")), security(("session" = [])))]
pub(super) async fn hidden(State(app): State<BoardApp>, By(by): By) -> HttpResult {
    let hidden = app.board.hidden(&by, PAGE_MAX).await?.into_iter();
    Ok(private(Json(FoundJson { messages: hidden.map(Into::into).collect() })))
}

/// Settle all reports of a report's message.
#[utoipa::path(delete, path = "/api/board/-/reports/{id}", operation_id = "settle_report", tag = "board", params(("id" = i64, Path)),
    responses((status = 204, description = "They are settled"), (status = 403, description = "This is for moderators and admins"), (status = 404, description = "There is no such report")),
    security(("session" = [])))]
pub(super) async fn settle(
    State(app): State<BoardApp>,
    Segment(id): Segment,
    By(by): By,
) -> HttpResult {
    by.check_staff()?;
    let id = id.parse().map_err(|_| Error::not_found("there is no such report"))?;
    app.board.settle(&by, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Who is banned from the board.
#[utoipa::path(get, path = "/api/board/-/bans", operation_id = "bans", tag = "board",
    responses((status = 200, body = BansJson), (status = 403, description = "This is for moderators and admins")), security(("session" = [])))]
pub(super) async fn bans(State(app): State<BoardApp>, By(by): By) -> HttpResult {
    let bans = app.board.bans(&by).await?.into_iter();
    Ok(private(Json(BansJson { bans: bans.map(Into::into).collect() })))
}

/// Ban somebody from the board, who is below oneself. What they wrote stays.
#[utoipa::path(put, path = "/api/board/-/bans/{username}", operation_id = "ban", tag = "board", params(("username" = String, Path, example = "ann")),
    responses((status = 204, description = "They are banned"), (status = 403, description = "This is for moderators and admins, about those below them"), (status = 404, description = "They have never been on this board")),
    security(("session" = [])))]
pub(super) async fn ban(
    State(app): State<BoardApp>,
    By(by): By,
    Segment(username): Segment,
) -> HttpResult {
    banned(&app, &by, &username, true).await
}

/// Let somebody in again.
#[utoipa::path(delete, path = "/api/board/-/bans/{username}", operation_id = "unban", tag = "board", params(("username" = String, Path, example = "ann")),
    responses((status = 204, description = "They may come"), (status = 403, description = "This is for moderators and admins, about those below them"), (status = 404, description = "They have never been on this board")),
    security(("session" = [])))]
pub(super) async fn unban(
    State(app): State<BoardApp>,
    By(by): By,
    Segment(username): Segment,
) -> HttpResult {
    banned(&app, &by, &username, false).await
}

async fn banned(app: &BoardApp, by: &Actor, name: &str, is_banned: bool) -> HttpResult {
    by.check_staff()?;
    let name = Username::parse(name);
    let name = name.map_err(|_| Error::not_found("there is no such account"))?;
    app.board.ban(by, &app.accounts, name, is_banned).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
