//! The JSON API of passes. Handlers parse, call the service once, and render.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use jiff::Timestamp;
use lodge_domain::{Error, accounts::Account, rides::Pass};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    body::FullBody,
    error::{HttpResult, Problem},
    json,
    request::{CredentialRateLimit, PathParam, RequestContext},
    responses::private,
    rides::app::RidesApp,
    session,
};

/// The account's passes.
#[derive(Serialize, ToSchema)]
pub(super) struct PassesJson {
    passes: Vec<PassJson>,
    /// Whether leaderboards show the account's nickname and picture beside the numbers of its passes.
    profile_shown: bool,
}

/// A pass that the account has claimed.
#[derive(Serialize, ToSchema)]
pub(super) struct PassJson {
    #[serde(rename = "skierID")]
    #[schema(example = 7)]
    skier: u32,
    /// Whether leaderboards leave the skier out.
    hidden: bool,
    claimed_at: Timestamp,
}

impl From<Pass> for PassJson {
    fn from(Pass { skier, account: _, hidden, claimed_at }: Pass) -> Self {
        Self { skier: skier.0, hidden, claimed_at }
    }
}

/// A claim of a pass.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimPass {
    /// The code printed on the pass. Case is ignored, and so are hyphens, other dashes and spaces.
    #[schema(example = "CA4FT-PA5XM")]
    code: String,
}

/// A change for all passes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditPasses {
    /// Whether leaderboards show the account's nickname and picture beside the numbers of its passes.
    profile_shown: bool,
}

/// A change of a pass.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditPass {
    /// Whether leaderboards leave the skier out.
    #[schema(example = true)]
    hidden: bool,
}

/// Returns the caller's account. Only a session has an account; API keys and anonymous callers get 401.
async fn account(app: &RidesApp, asked: &RequestContext) -> Result<Account, Problem> {
    let session = asked.session()?;
    let me = session::account(&app.site, session).await?;
    Ok(me.ok_or(Error::unauthenticated("the session is unknown or has ended"))?.account)
}

async fn passes_of(app: &RidesApp, account: &Account) -> HttpResult {
    let passes = app.rides.passes();
    let profile_shown = passes.profile(account.id).await?.is_some();
    let passes = passes.of_account(account.id).await?.into_iter().map(Into::into).collect();
    Ok(private(Json(PassesJson { passes, profile_shown })))
}

/// List the passes of the account, by number.
#[utoipa::path(get, path = "/api/me/passes", operation_id = "passes", tag = "passes",
    responses((status = 200, body = PassesJson), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(super) async fn list(State(app): State<RidesApp>, asked: RequestContext) -> HttpResult {
    passes_of(&app, &account(&app, &asked).await?).await
}

/// Show or hide your nickname and picture on leaderboards.
///
/// Off by default. Without it, the nickname and the picture are removed at once.
#[utoipa::path(patch, path = "/api/me/passes", operation_id = "edit_passes", tag = "passes", request_body = EditPasses,
    responses((status = 200, body = PassesJson), (status = 400, description = "Invalid request; the answer says why"), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(super) async fn edit_all(
    State(app): State<RidesApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let EditPasses { profile_shown } = json::body_of(&asked.headers, &body)?;
    app.rides.passes().set_profile(&account, profile_shown).await?;
    passes_of(&app, &account).await
}

/// Claim a pass with the code printed on it.
///
/// The pass moves from the account that had it before; if it was hidden, it stays hidden. An account has at most
/// ten passes.
#[utoipa::path(put, path = "/api/me/passes/{skierID}", operation_id = "claim_pass", tag = "passes", request_body = ClaimPass,
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 201, body = PassJson), (status = 200, description = "The account has this pass already; nothing changed", body = PassJson),
        (status = 400, description = "Invalid number or code; the answer names it"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "Wrong code for this pass"), (status = 409, description = "The account has ten passes already"), (status = 429, description = "Too many attempts; see Retry-After")),
    security(("session" = [])))]
pub(super) async fn claim(
    State(app): State<RidesApp>,
    PathParam(number): PathParam,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    let ClaimPass { code } = json::body_of(&asked.headers, &body)?;
    let (pass, is_new) = app.rides.passes().claim(skier, account.id, &code.parse()?).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(private((status, Json(PassJson::from(pass)))))
}

/// Hide a pass from leaderboards, or show it.
///
/// Only leaderboards leave out a hidden skier. The skier's days and seasons, searches and exports stay public.
#[utoipa::path(patch, path = "/api/me/passes/{skierID}", operation_id = "edit_pass", tag = "passes", request_body = EditPass,
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 200, body = PassJson), (status = 400, description = "Invalid request; the answer says why"),
        (status = 401, description = "Unknown or ended session"), (status = 404, description = "The account does not have this pass")),
    security(("session" = [])))]
pub(super) async fn edit(
    State(app): State<RidesApp>,
    PathParam(number): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    let EditPass { hidden } = json::body_of(&asked.headers, &body)?;
    let pass = app.rides.passes().hide(skier, account.id, hidden).await?;
    Ok(private(Json(PassJson::from(pass))))
}

/// Give a pass back.
///
/// It belongs to no account then, and leaderboards show the skier.
#[utoipa::path(delete, path = "/api/me/passes/{skierID}", operation_id = "release_pass", tag = "passes",
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 204, description = "The pass belongs to no account"), (status = 400, description = "Invalid number"),
        (status = 401, description = "Unknown or ended session"), (status = 404, description = "The account does not have this pass")),
    security(("session" = [])))]
pub(super) async fn release(
    State(app): State<RidesApp>,
    PathParam(number): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    app.rides.passes().release(skier, account.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
