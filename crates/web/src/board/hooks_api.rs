//! Webhooks: the admin API that manages them, and the body of a delivery.

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRef, State},
    response::IntoResponse,
};
use http::{Method, StatusCode};
use jiff::Timestamp;
use lodge_domain::{
    Error,
    board::{BoardEvent, DeliveryStatus, Hook, HookId, HookSecret, HookUrl, Hooks, Slug},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    APP, FAILURES,
    app::{BODY_BYTES_MAX, BoardApp},
    dto::EventJson,
    extract::CallingActor,
    pages::webhooks,
};
use crate::{
    context::App,
    error::HttpResult,
    json::JsonBody,
    request::PathParam,
    responses::private,
    routes::{Routes, may_fail},
};

/// The state of the webhook handlers.
pub(crate) type HooksApp = App<Parts>;

/// The board's state and the webhook service.
pub(crate) struct Parts {
    pub(super) board: BoardApp,
    pub(super) hooks: Arc<Hooks>,
}

impl HooksApp {
    /// Creates the state on the board's site.
    pub(crate) fn new(board: BoardApp, hooks: Arc<Hooks>) -> Self {
        Self::on(Arc::clone(&board.site), Parts { board, hooks })
    }
}

impl FromRef<HooksApp> for BoardApp {
    fn from_ref(app: &HooksApp) -> Self {
        app.board.clone()
    }
}

/// The webhook routes.
pub(crate) fn routes() -> Routes<HooksApp> {
    Routes::default()
        .tag(APP, "webhooks", "Send the events of a channel to a URL.")
        .schema::<HookEventJson>()
        .api(routes!(list))
        .api_within(BODY_BYTES_MAX, routes!(add))
        .api(routes!(remove))
        .on(Method::GET, webhooks::PATH, webhooks::show)
        .on_within(BODY_BYTES_MAX, Method::POST, webhooks::PATH, webhooks::change)
        .describe(|operation| may_fail(operation, &FAILURES))
}

/// A webhook to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct AddHook {
    /// The channel whose events are sent, from the creation of the webhook on.
    #[schema(example = "lobby")]
    channel: String,
    /// The receiver's http or https URL, at a public address unless the operator allows others.
    #[schema(example = "https://example.org/hook")]
    url: String,
}

/// A webhook.
#[derive(Default, Serialize, ToSchema)]
struct HookJson {
    id: i64,
    #[schema(example = "lobby")]
    channel: String,
    #[schema(example = "https://example.org/hook")]
    url: String,
    created_at: Timestamp,
    /// The cursor after the last delivered event; `/api/board/{channel}/events?after=` has the events after it.
    #[schema(example = "7:42")]
    cursor: String,
    /// Consecutive failed deliveries.
    #[schema(example = 0)]
    failures: u32,
    /// The time of the first of these failures; absent without failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<Timestamp>,
    /// The time of the next retry; absent without a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try: Option<Timestamp>,
    /// The time at which deliveries stopped; absent while the webhook is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_at: Option<Timestamp>,
    /// Why the last delivery failed, or why the webhook is disabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// The secret that signs deliveries; only in the response that creates the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// All webhooks, oldest first.
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
        match hook.delivery {
            DeliveryStatus::Healthy => {}
            DeliveryStatus::Failing { failures, since, next_try, why } => {
                json.failures = failures;
                json.failing_since = Some(since);
                json.next_try = Some(next_try);
                json.why = Some(why);
            }
            DeliveryStatus::Disabled { at, why } => {
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

/// The body of a delivery: an event in the envelope that Standard Webhooks recommends.
#[derive(Serialize, ToSchema)]
struct HookEventJson {
    /// `board.` and the event's kind.
    #[serde(rename = "type")]
    #[schema(example = "board.message")]
    kind: String,
    /// The time of the event.
    #[schema(format = DateTime, example = "2026-01-01T00:00:00.000001Z")]
    timestamp: String,
    data: HookDataJson,
}

/// The event and its channel.
#[derive(Serialize, ToSchema)]
struct HookDataJson {
    #[schema(example = "lobby")]
    channel: String,
    event: EventJson,
}

/// Returns the body of the delivery of an event, as JSON.
pub fn hook_body(channel: &Slug, event: &BoardEvent) -> Vec<u8> {
    let json = HookEventJson {
        kind: format!("board.{}", event.content.kind()),
        timestamp: event.at.to_string(),
        data: HookDataJson { channel: channel.to_string(), event: event.into() },
    };
    // Strings and numbers only: serialisation cannot fail.
    serde_json::to_vec(&json).unwrap_or_default()
}

/// List all webhooks, oldest first.
#[utoipa::path(get, path = "/api/board/-/hooks", operation_id = "hooks", tag = "webhooks",
    responses((status = 200, body = HooksJson), (status = 403, description = "Only admins may do this")), security(("session" = [])))]
async fn list(State(app): State<HooksApp>, CallingActor(by): CallingActor) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let hooks = hooks.list().await?.into_iter().map(Into::into).collect();
    Ok(private(Json(HooksJson { hooks })))
}

/// Create a webhook.
///
/// Every later event of the channel is delivered to the URL, in order, at least once, and signed as the Standard
/// Webhooks specification says. Only this response contains the secret.
#[utoipa::path(post, path = "/api/board/-/hooks", operation_id = "add_hook", tag = "webhooks", request_body = AddHook,
    responses((status = 201, body = HookJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 403, description = "Only admins may do this"),
        (status = 404, description = "No such channel"), (status = 409, description = "The number of webhooks is at its limit")),
    security(("session" = [])))]
async fn add(
    State(app): State<HooksApp>,
    CallingActor(by): CallingActor,
    JsonBody(AddHook { channel, url }): JsonBody<AddHook>,
) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let (channel, url) = (Slug::parse(&channel)?, HookUrl::parse(&url)?);
    let (hook, secret) = hooks.add(channel, url).await?;
    Ok(private((StatusCode::CREATED, Json(HookJson::from(hook).with(&secret)))))
}

/// Remove a webhook.
#[utoipa::path(delete, path = "/api/board/-/hooks/{id}", operation_id = "remove_hook", tag = "webhooks", params(("id" = i64, Path, example = 1)),
    responses((status = 204, description = "Removed"), (status = 403, description = "Only admins may do this"), (status = 404, description = "No such webhook")),
    security(("session" = [])))]
async fn remove(
    State(app): State<HooksApp>,
    PathParam(id): PathParam,
    CallingActor(by): CallingActor,
) -> HttpResult {
    let hooks = app.hooks.of_admin(&by)?;
    let id = id.parse().map_err(|_| Error::not_found("there is no such webhook"))?;
    hooks.remove(HookId(id)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
