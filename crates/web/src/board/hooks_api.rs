//! Webhooks: who is told what happens in channels, and what they are told. For admins.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRef, State},
    response::IntoResponse,
};
use http::StatusCode;
use jiff::Timestamp;
use lodge_domain::{
    Error,
    board::{Event, Hook, HookId, HookSecret, HookStanding, HookUrl, Hooks, Slug},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    FAILURES,
    app::{BODY_BYTES_MAX, BoardApp},
    dto::EventJson,
    extract::By,
};
use crate::{
    answers::private,
    context::App,
    error::HttpResult,
    json::JsonBody,
    request::Segment,
    routes::{Routes, may_fail},
};

/// The board, and its hooks.
pub(crate) type HooksApp = App<Parts>;

/// What there is one of.
pub(crate) struct Parts {
    board: BoardApp,
    hooks: Arc<Hooks>,
}

impl HooksApp {
    /// The hooks of a board.
    pub(crate) fn new(board: BoardApp, hooks: Arc<Hooks>) -> Self {
        Self::on(Arc::clone(&board.site), Parts { board, hooks })
    }
}

impl FromRef<HooksApp> for BoardApp {
    fn from_ref(app: &HooksApp) -> Self {
        app.board.clone()
    }
}

/// The routes about hooks.
pub(crate) fn routes() -> Routes<HooksApp> {
    Routes::default()
        .schema::<HookEventJson>()
        .api(routes!(list))
        .api_within(BODY_BYTES_MAX, routes!(add))
        .api(routes!(remove))
        .describe(|operation| may_fail(operation, &FAILURES))
}

/// A hook to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddHook {
    /// The channel whose events are sent, from now on.
    #[schema(example = "lobby")]
    channel: String,
    /// Where to: https or http, at a public address unless the operator allows others.
    #[schema(example = "https://example.org/hook")]
    url: String,
}

/// A hook.
#[derive(Default, Serialize, ToSchema)]
struct HookJson {
    id: i64,
    #[schema(example = "lobby")]
    channel: String,
    #[schema(example = "https://example.org/hook")]
    url: String,
    created_at: Timestamp,
    /// What its receiver has taken: the events after it are in `/api/board/{channel}/events?after=`.
    cursor: String,
    /// How many deliveries have failed in a row.
    failures: u32,
    /// While they fail: since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<Timestamp>,
    /// While they fail: when the next one is tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try: Option<Timestamp>,
    /// Since when nothing is sent any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
    /// Why the last delivery failed, or the hook is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What deliveries are signed with; told once, to whoever adds the hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// All hooks, the oldest first.
#[derive(Serialize, ToSchema)]
struct HooksJson {
    hooks: Vec<HookJson>,
}

impl From<Hook> for HookJson {
    fn from(hook: Hook) -> Self {
        let mut json = Self {
            id: hook.id.0,
            channel: hook.channel.to_string(),
            url: hook.url.to_string(),
            created_at: hook.created_at,
            cursor: hook.cursor.to_string(),
            ..Self::default()
        };
        match hook.standing {
            HookStanding::Well => {}
            HookStanding::Failing { failures, since, next_try, why } => {
                json.failures = failures;
                json.failing_since = Some(since);
                json.next_try = Some(next_try);
                json.why = Some(why);
            }
            HookStanding::Disabled { at, why } => {
                json.disabled_at = Some(at);
                json.why = Some(why);
            }
        }
        json
    }
}

impl HookJson {
    fn with(self, secret: &HookSecret) -> Self {
        Self { secret: Some(secret.to_text()), ..self }
    }
}

/// What is sent to a hook: an event, in an envelope as Standard Webhooks recommend it.
#[derive(Serialize, ToSchema)]
struct HookEventJson {
    /// `board.` and the event's kind.
    #[serde(rename = "type")]
    #[schema(example = "board.message")]
    kind: String,
    /// When it happened.
    #[schema(format = DateTime, example = "2026-01-01T00:00:00.000001Z")]
    timestamp: String,
    data: HookDataJson,
}

/// The event, and where it happened.
#[derive(Serialize, ToSchema)]
struct HookDataJson {
    #[schema(example = "lobby")]
    channel: String,
    event: EventJson,
}

/// What is sent to a hook about an event.
pub fn hook_body(channel: &Slug, event: &Event) -> Vec<u8> {
    let json = HookEventJson {
        kind: format!("board.{}", event.what.kind()),
        timestamp: event.at.to_string(),
        data: HookDataJson { channel: channel.to_string(), event: event.into() },
    };
    // There is nothing in it that JSON cannot say.
    serde_json::to_vec(&json).unwrap_or_default()
}

/// Who is told what happens.
#[utoipa::path(get, path = "/api/board/-/hooks", operation_id = "hooks", tag = "board",
    responses((status = 200, body = HooksJson), (status = 403, description = "This is for admins")), security(("session" = [])))]
async fn list(State(app): State<HooksApp>, By(by): By) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let hooks = hooks.list().await?.into_iter().map(Into::into).collect();
    Ok(private(Json(HooksJson { hooks })))
}

/// Have a URL told what happens in a channel from now on: every event, in order, at least once, signed as the Standard
/// Webhooks specification says. The answer holds the secret, this once.
#[utoipa::path(post, path = "/api/board/-/hooks", operation_id = "add_hook", tag = "board", request_body = AddHook,
    responses((status = 201, body = HookJson), (status = 400, description = "Something cannot be; the answer says what"), (status = 403, description = "This is for admins"),
        (status = 404, description = "There is no such channel"), (status = 409, description = "There are as many as there may be")),
    security(("session" = [])))]
async fn add(
    State(app): State<HooksApp>,
    By(by): By,
    JsonBody(AddHook { channel, url }): JsonBody<AddHook>,
) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let (channel, url) = (Slug::parse(&channel)?, HookUrl::parse(&url)?);
    let (hook, secret) = hooks.add(channel, url).await?;
    Ok(private((StatusCode::CREATED, Json(HookJson::from(hook).with(&secret)))))
}

/// Tell somebody nothing any more.
#[utoipa::path(delete, path = "/api/board/-/hooks/{id}", operation_id = "remove_hook", tag = "board", params(("id" = i64, Path)),
    responses((status = 204, description = "It is removed"), (status = 403, description = "This is for admins"), (status = 404, description = "There is no such hook")),
    security(("session" = [])))]
async fn remove(State(app): State<HooksApp>, Segment(id): Segment, By(by): By) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let id = id.parse().map_err(|_| Error::not_found("there is no such hook"))?;
    hooks.remove(HookId(id)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
