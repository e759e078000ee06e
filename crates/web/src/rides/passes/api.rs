//! The JSON API. Handlers parse, call the service once, and render.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::AccountId,
    links::{Caller, Owner},
    rides::Pass,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    answers::private,
    body::Whole,
    error::{HttpResult, Problem},
    json,
    request::{Asked, OneAttempt, Segment},
    rides::app::RidesApp,
};

/// One's passes.
#[derive(Serialize, ToSchema)]
pub(super) struct PassesJson {
    passes: Vec<PassJson>,
}

/// A skier's number that is one's own.
#[derive(Serialize, ToSchema)]
pub(super) struct PassJson {
    #[serde(rename = "skierID")]
    skier: u32,
    /// Whether leaderboards leave it out.
    hidden: bool,
    claimed_at: Timestamp,
}

impl From<Pass> for PassJson {
    fn from(Pass { skier, account: _, hidden, claimed_at }: Pass) -> Self {
        Self { skier: skier.0, hidden, claimed_at }
    }
}

/// A claim.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimPass {
    /// What is printed on the pass, in capitals or not, with the hyphen or without; a space or another dash will do.
    #[schema(example = "CA4FT-PA5XM")]
    code: String,
}

/// A change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditPass {
    /// Whether leaderboards are to leave it out.
    hidden: bool,
}

/// Who asks, by the token of a session: nobody else has passes.
async fn account(app: &RidesApp, asked: &Asked) -> Result<AccountId, Problem> {
    match asked.caller(&app.site).await? {
        Caller::Owner(Owner::Account(account)) => Ok(account),
        Caller::Owner(Owner::Key(_)) | Caller::Anonymous | Caller::ManageKey(_) => {
            Err(Error::unauthenticated("this needs the token of a session").into())
        }
    }
}

/// The skiers' numbers that are one's own, in order.
#[utoipa::path(get, path = "/api/me/passes", operation_id = "passes", tag = "passes",
    responses((status = 200, body = PassesJson), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(super) async fn list(State(app): State<RidesApp>, asked: Asked) -> HttpResult {
    let account = account(&app, &asked).await?;
    let passes = app.rides.passes().of_account(account).await?;
    let passes = passes.into_iter().map(Into::into).collect();
    Ok(private(Json(PassesJson { passes })))
}

/// Claim a skier's number with the code on the pass.
///
/// It is taken over from whoever had it; if they hid it, it stays hidden until it is shown. At most ten are
/// one's own.
#[utoipa::path(put, path = "/api/me/passes/{skierID}", operation_id = "claim_pass", tag = "passes", request_body = ClaimPass,
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 201, body = PassJson), (status = 200, description = "It was one's own before; nothing changed", body = PassJson),
        (status = 400, description = "The number or the code cannot be; the answer says which"), (status = 401, description = "The session is not known, or has ended"),
        (status = 403, description = "It is not the code on this pass"), (status = 409, description = "One has ten"), (status = 429, description = "Too many tries; see Retry-After")),
    security(("session" = [])))]
pub(super) async fn claim(
    State(app): State<RidesApp>,
    Segment(number): Segment,
    _: OneAttempt,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    let ClaimPass { code } = json::body_of(&asked.headers, &body)?;
    let (pass, is_new) = app.rides.passes().claim(skier, account, &code.parse()?).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(private((status, Json(PassJson::from(pass)))))
}

/// Hide one's number from leaderboards, or show it there.
///
/// What can be asked about a number stays so: its days and seasons, searches, and the export of a season.
#[utoipa::path(patch, path = "/api/me/passes/{skierID}", operation_id = "edit_pass", tag = "passes", request_body = EditPass,
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 200, body = PassJson), (status = 400, description = "Something cannot be; the answer says what"),
        (status = 401, description = "The session is not known, or has ended"), (status = 404, description = "It is not one's own")),
    security(("session" = [])))]
pub(super) async fn edit(
    State(app): State<RidesApp>,
    Segment(number): Segment,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    let EditPass { hidden } = json::body_of(&asked.headers, &body)?;
    let pass = app.rides.passes().hide(skier, account, hidden).await?;
    Ok(private(Json(PassJson::from(pass))))
}

/// Give a number back; it is nobody's then, and shown on leaderboards.
#[utoipa::path(delete, path = "/api/me/passes/{skierID}", operation_id = "release_pass", tag = "passes",
    params(("skierID" = u32, Path, example = 7)),
    responses((status = 204, description = "It is nobody's"), (status = 400, description = "There is no such number"),
        (status = 401, description = "The session is not known, or has ended"), (status = 404, description = "It is not one's own")),
    security(("session" = [])))]
pub(super) async fn release(
    State(app): State<RidesApp>,
    Segment(number): Segment,
    asked: Asked,
) -> HttpResult {
    let account = account(&app, &asked).await?;
    let skier = app.skier(&number)?;
    app.rides.passes().release(skier, account).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
