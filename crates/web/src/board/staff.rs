//! Moderation: channels, hidden messages, reports and bans. The service checks the role.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::Username,
    board::{Action, Actor, ChannelChange, KnownMember, PAGE_MAX, Report, Slug, Topic},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    app::{BoardApp, slug},
    dto::{ChannelJson, EventJson, FoundJson, MessageJson, PersonJson},
    extract::{CallingActor, MessagePath},
    messages::apply_action,
};
use crate::{error::HttpResult, json::JsonBody, request::PathParam, responses::private};

/// A channel to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateChannel {
    /// 1 to 32 letters (a to z), digits and hyphens.
    #[schema(example = "lift-7")]
    channel: String,
    /// At most 200 characters.
    #[serde(default)]
    #[schema(example = "The seventh lift")]
    topic: String,
}

/// Changes to a channel; an absent field stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditChannel {
    topic: Option<String>,
    /// Seconds between two messages of one member, 0 to 21,600; 0 means no limit.
    #[schema(example = 30)]
    slow_mode_s: Option<u32>,
    /// Whether the channel is archived: it can be read, but not posted in.
    archived: Option<bool>,
}

/// Create a channel.
#[utoipa::path(post, path = "/api/board", operation_id = "create_channel", tag = "channels", request_body = CreateChannel,
    responses((status = 201, body = ChannelJson), (status = 200, description = "The channel exists; nothing changed", body = ChannelJson),
        (status = 400, description = "Invalid request; `detail` says why"), (status = 403, description = "Only moderators and admins may do this"), (status = 409, description = "The number of channels is at its limit")),
    security(("session" = [])))]
pub(super) async fn create_channel(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    JsonBody(CreateChannel { channel, topic }): JsonBody<CreateChannel>,
) -> HttpResult {
    let (slug, topic) = (Slug::parse(&channel)?, Topic::parse(&topic)?);
    let (channel, is_new) = app.board.create_channel(&by, slug, topic).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(private((status, Json(ChannelJson::from(channel)))))
}

/// Edit a channel.
#[utoipa::path(patch, path = "/api/board/{channel}", operation_id = "edit_channel", tag = "channels", request_body = EditChannel,
    params(("channel" = String, Path, example = "lobby")),
    responses((status = 200, body = ChannelJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 403, description = "Only moderators and admins may do this"), (status = 404, description = "No such channel")),
    security(("session" = [])))]
pub(super) async fn edit_channel(
    State(app): State<BoardApp>,
    PathParam(channel): PathParam,
    CallingActor(by): CallingActor,
    JsonBody(EditChannel { topic, slow_mode_s, archived }): JsonBody<EditChannel>,
) -> HttpResult {
    let topic = topic.map(|topic| Topic::parse(&topic)).transpose()?;
    let change = ChannelChange { topic, slow_mode_s, is_archived: archived };
    let channel = app.board.change_channel(&by, &slug(&channel)?, change).await?;
    Ok(private(Json(ChannelJson::from(channel))))
}

/// Hide a message from all but moderators and admins.
#[utoipa::path(put, path = "/api/board/{channel}/messages/{id}/hidden", operation_id = "hide_message", tag = "moderation",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: already hidden"), (status = 403, description = "Only moderators and admins may do this"),
        (status = 404, description = "No such message"), (status = 410, description = "The message is deleted")),
    security(("session" = [])))]
pub(super) async fn hide(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    place: MessagePath,
) -> HttpResult {
    apply_action(&app, &by, place, Action::Hide(true)).await
}

/// Show a hidden message again.
#[utoipa::path(delete, path = "/api/board/{channel}/messages/{id}/hidden", operation_id = "show_message", tag = "moderation",
    params(("channel" = String, Path, example = "lobby"), ("id" = String, Path, example = "7:42")),
    responses((status = 200, body = EventJson), (status = 204, description = "No change: not hidden"), (status = 403, description = "Only moderators and admins may do this"),
        (status = 404, description = "No such message"), (status = 410, description = "The message is deleted")),
    security(("session" = [])))]
pub(super) async fn show(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    place: MessagePath,
) -> HttpResult {
    apply_action(&app, &by, place, Action::Hide(false)).await
}

/// Open reports, oldest first.
#[derive(Serialize, ToSchema)]
pub(super) struct ReportsJson {
    reports: Vec<ReportJson>,
}

/// A report of a message.
#[derive(Serialize, ToSchema)]
pub(super) struct ReportJson {
    id: i64,
    message: MessageJson,
    by: PersonJson,
    #[schema(example = "Advertising")]
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

/// Bans from the board.
#[derive(Serialize, ToSchema)]
pub(super) struct BansJson {
    bans: Vec<BanJson>,
}

/// A banned account.
#[derive(Serialize, ToSchema)]
pub(super) struct BanJson {
    person: PersonJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    banned_at: Option<Timestamp>,
}

impl From<KnownMember> for BanJson {
    fn from(known: KnownMember) -> Self {
        Self { person: known.profile.into(), banned_at: known.banned_at }
    }
}

/// List open reports.
///
/// Oldest first, at most 500.
#[utoipa::path(get, path = "/api/board/-/reports", operation_id = "reports", tag = "moderation",
    responses((status = 200, body = ReportsJson), (status = 403, description = "Only moderators and admins may do this")), security(("session" = [])))]
pub(super) async fn reports(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let reports = app.board.reports(&by, PAGE_MAX).await?.into_iter();
    Ok(private(Json(ReportsJson { reports: reports.map(Into::into).collect() })))
}

/// List hidden messages.
///
/// With their text, newest first, at most 500.
#[utoipa::path(get, path = "/api/board/-/hidden", operation_id = "hidden_messages", tag = "moderation",
    responses((status = 200, body = FoundJson), (status = 403, description = "Only moderators and admins may do this")), security(("session" = [])))]
pub(super) async fn hidden(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let hidden = app.board.hidden(&by, PAGE_MAX).await?.into_iter();
    Ok(private(Json(FoundJson { messages: hidden.map(Into::into).collect() })))
}

/// Close a report.
///
/// All other reports of its message are closed, too.
#[utoipa::path(delete, path = "/api/board/-/reports/{id}", operation_id = "settle_report", tag = "moderation", params(("id" = i64, Path, example = 1)),
    responses((status = 204, description = "Closed"), (status = 403, description = "Only moderators and admins may do this"), (status = 404, description = "No such report")),
    security(("session" = [])))]
pub(super) async fn settle(
    State(app): State<BoardApp>,
    PathParam(id): PathParam,
    CallingActor(by): CallingActor,
) -> HttpResult {
    by.check_staff()?;
    let id = id.parse().map_err(|_| Error::not_found("there is no such report"))?;
    app.board.settle(&by, id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// List the banned accounts.
#[utoipa::path(get, path = "/api/board/-/bans", operation_id = "bans", tag = "moderation",
    responses((status = 200, body = BansJson), (status = 403, description = "Only moderators and admins may do this")), security(("session" = [])))]
pub(super) async fn bans(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let bans = app.board.bans(&by).await?.into_iter();
    Ok(private(Json(BansJson { bans: bans.map(Into::into).collect() })))
}

/// Ban an account from the board.
///
/// The account must have a lower role than the caller. Its messages stay.
#[utoipa::path(put, path = "/api/board/-/bans/{username}", operation_id = "ban", tag = "moderation", params(("username" = String, Path, example = "ann")),
    responses((status = 204, description = "Banned"), (status = 403, description = "Only moderators and admins may do this, to accounts of a lower role"), (status = 404, description = "The account has never been on this board")),
    security(("session" = [])))]
pub(super) async fn ban(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    PathParam(username): PathParam,
) -> HttpResult {
    banned(&app, &by, &username, true).await
}

/// Lift a ban.
#[utoipa::path(delete, path = "/api/board/-/bans/{username}", operation_id = "unban", tag = "moderation", params(("username" = String, Path, example = "ann")),
    responses((status = 204, description = "Ban lifted"), (status = 403, description = "Only moderators and admins may do this, to accounts of a lower role"), (status = 404, description = "The account has never been on this board")),
    security(("session" = [])))]
pub(super) async fn unban(
    State(app): State<BoardApp>,
    CallingActor(by): CallingActor,
    PathParam(username): PathParam,
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
