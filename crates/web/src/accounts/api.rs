//! The JSON API of accounts. Handlers parse the request, call the service once, and render the result.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Email, Nickname, SessionId, TAKEN, Username},
    caller::Caller,
};
use utoipa_axum::routes;

use super::{
    app::AccountsApp,
    dto::{
        AccountJson, BeginSession, ChangePassword, CreateAccount, CurrentPassword, EditAccount,
        ExportJson, ResetPassword, SessionJson, SessionToken, SessionsJson, UserJson,
    },
    export::exported,
};
use crate::{
    body::FullBody,
    edge::limits,
    error::HttpResult,
    json::{self, JsonBody},
    request::{CredentialRateLimit, PathParam, RequestContext},
    responses::{self, private},
    routes::Routes,
    sign_in as signing_in,
};

pub(super) fn routes() -> Routes<AccountsApp> {
    Routes::default()
        .api(routes!(sign_up))
        .api(routes!(sign_in))
        .api(routes!(sign_out))
        .api(routes!(reset_password))
        .api(routes!(me))
        .api(routes!(edit))
        .api(routes!(delete))
        .api(routes!(change_password))
        .api(routes!(sessions))
        .api(routes!(sign_out_everywhere))
        .api(routes!(end_session))
        .api(routes!(export))
        .api(routes!(user))
}

/// Create an account.
#[utoipa::path(post, path = "/api/accounts", tag = "accounts", request_body = CreateAccount,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 printable characters. A repetition within 24 h, from the same address or with a UUID of version 4 or 7, returns the account in its current state")),
    responses((status = 201, body = AccountJson), (status = 400, description = "Invalid request; `detail` says why"),
        (status = 403, description = "Only administrators create accounts on this server"), (status = 409, description = "The username, or one that looks like it, is taken"),
        (status = 410, description = "The account that this request created has been deleted"), (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 429, description = "Too many requests; see Retry-After"), (status = 503, description = "Temporarily unavailable; retry with the same Idempotency-Key")))]
pub(crate) async fn sign_up(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    limits::take(app.sign_ups.as_ref(), asked.client)?;
    let request: CreateAccount = json::body_of(&asked.headers, &body)?;
    let request = request.parse()?;
    // The service adds the password.
    let nickname = request.nickname.as_ref().map(Nickname::as_str).unwrap_or_default();
    let email = request.email.as_ref().map(Email::as_str).unwrap_or_default();
    let said = [request.username.as_str(), nickname, email].join("\0");
    let idempotency =
        asked.unkeyed_idempotency_key(&Caller::Anonymous, "/api/accounts", said.as_bytes())?;
    let done = app.accounts.sign_up(request, idempotency).await?;
    let done = done.map(|made| made.ok_or(TAKEN));
    Ok(responses::respond(done, |account| {
        let account = Json(AccountJson::from(&account));
        (StatusCode::CREATED, account).into_response()
    }))
}

/// Sign in.
///
/// Neither the response to a wrong password nor its timing reveals whether the account exists or is banned, or has a
/// password.
#[utoipa::path(post, path = "/api/session", tag = "sessions", request_body = BeginSession,
    responses((status = 200, body = SessionToken), (status = 400, description = "Invalid request; `detail` says why"), (status = 401, description = "Wrong username or password"),
        (status = 403, description = "The password is right, but the account is banned"),
        (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")))]
pub(crate) async fn sign_in(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    asked: RequestContext,
    JsonBody(BeginSession { username, password }): JsonBody<BeginSession>,
) -> HttpResult {
    let fresh =
        signing_in::begin_session(&app.accounts, &asked, &username, &password, None).await?;
    Ok(Json(SessionToken::from(fresh)).into_response())
}

/// Sign out.
///
/// The session of the token ends.
#[utoipa::path(delete, path = "/api/session", tag = "sessions",
    responses((status = 204, description = "The token is no longer valid"), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(crate) async fn sign_out(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    let session = asked.session()?;
    app.accounts.sign_out(session).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Set a new password with a one-time code.
///
/// The code comes from an administrator. All sessions end, and all providers are unlinked.
#[utoipa::path(post, path = "/api/password", tag = "accounts", request_body = ResetPassword,
    responses((status = 204, description = "The password is set"), (status = 400, description = "Invalid request; `detail` says why"),
        (status = 403, description = "The code is wrong for this username, used or expired"), (status = 429, description = "Too many requests; see Retry-After")))]
pub(crate) async fn reset_password(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    JsonBody(request): JsonBody<ResetPassword>,
) -> HttpResult {
    let (name, code, new) = request.parse()?;
    app.accounts.reset_password(name, code.trim().to_owned().into(), new).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Get your account.
#[utoipa::path(get, path = "/api/me", tag = "profile",
    responses((status = 200, body = AccountJson), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(crate) async fn me(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    let me = app.accounts.who(asked.session()?).await?;
    Ok(private(Json(AccountJson::from(&me.account))))
}

/// Change your nickname or e-mail address.
///
/// A new e-mail address requires the current password.
#[utoipa::path(patch, path = "/api/me", operation_id = "edit_account", tag = "profile", request_body = EditAccount,
    responses((status = 200, body = AccountJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn edit(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let session = asked.session()?;
    let request: EditAccount = json::body_of(&asked.headers, &body)?;
    let edit = request.parse(asked.client)?;
    if edit.email.is_some() {
        limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    }
    let account = app.accounts.edit(session, edit).await?;
    Ok(private(Json(AccountJson::from(&account))))
}

/// Delete your account.
///
/// Its username is reserved for 30 days.
#[utoipa::path(delete, path = "/api/me", operation_id = "delete_account", tag = "profile", request_body = CurrentPassword,
    responses((status = 204, description = "The account is deleted"), (status = 400, description = "The current password is missing or malformed"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn delete(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let session = asked.session()?;
    let request: CurrentPassword = json::body_of(&asked.headers, &body)?;
    app.accounts.delete(session, request.parse()?, asked.client.limited_by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Change your password.
///
/// All sessions end, this one included; the response has the token of a new one.
#[utoipa::path(put, path = "/api/me/password", tag = "profile", request_body = ChangePassword,
    responses((status = 200, body = SessionToken, description = "The password is changed; the token replaces that of the request"), (status = 400, description = "Invalid request; `detail` says why"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn change_password(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let session = asked.session()?;
    let me = app.accounts.who(session).await?;
    let request: ChangePassword = json::body_of(&asked.headers, &body)?;
    let (current, new) = request.parse(&me)?;
    let from = asked.client.limited_by();
    let fresh = app.accounts.change_password(session, current, new, from).await?;
    Ok(Json(SessionToken::from(fresh)).into_response())
}

/// List your sessions, newest first.
#[utoipa::path(get, path = "/api/me/sessions", tag = "sessions",
    responses((status = 200, body = SessionsJson), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(crate) async fn sessions(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    let session = asked.session()?;
    let me = app.accounts.who(session).await?;
    let sessions = app.accounts.sessions(session).await?.into_iter();
    let sessions = sessions.map(|session| SessionJson::of(session, me.session.id)).collect();
    Ok(private(Json(SessionsJson { sessions })))
}

/// Sign out everywhere.
///
/// All sessions end, this one included. Requires the current password, if the account has one.
#[utoipa::path(delete, path = "/api/me/sessions", tag = "sessions", request_body = Option<CurrentPassword>,
    responses((status = 204, description = "All earlier tokens are invalid"), (status = 400, description = "The current password is missing or malformed"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn sign_out_everywhere(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let session = asked.session()?;
    let current = CurrentPassword::in_body(&asked.headers, &body)?;
    app.accounts.sign_out_everywhere(session, current, asked.client.limited_by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// End one of your sessions.
///
/// Requires the current password, if the account has one, unless it is the session of the token.
#[utoipa::path(delete, path = "/api/me/sessions/{id}", tag = "sessions", params(("id" = String, Path, example = "17")),
    request_body = Option<CurrentPassword>,
    responses((status = 204, description = "The session is ended"), (status = 400, description = "The current password is missing or malformed"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 404, description = "No such session"),
        (status = 429, description = "Too many failed attempts; see Retry-After"), (status = 503, description = "Too many passwords are being checked; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn end_session(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let session = asked.session()?;
    let current = CurrentPassword::in_body(&asked.headers, &body)?;
    let id = segment.parse().map(SessionId);
    let id = id.map_err(|_| Error::not_found("there is no such session"))?;
    app.accounts.end_session(session, id, current, asked.client.limited_by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Download everything stored about your account.
///
/// An incomplete download is aborted before the last chunk.
#[utoipa::path(get, path = "/api/me/export", tag = "profile",
    responses((status = 200, body = ExportJson), (status = 401, description = "Unknown or ended session"),
        (status = 429, description = "Too many exports to this address; see Retry-After"), (status = 503, description = "Too many exports in progress; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn export(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    exported(&app, asked.session()?, asked.client).await
}

/// Get the public profile of an account.
#[utoipa::path(get, path = "/api/users/{username}", tag = "accounts", params(("username" = String, Path, example = "ann")),
    responses((status = 200, body = UserJson), (status = 404, description = "No such account")))]
pub(crate) async fn user(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
) -> HttpResult {
    let name = Username::parse(&segment);
    let name = name.map_err(|_| Error::not_found("there is no such account"))?;
    let account = app.accounts.user(name).await?;
    Ok(Json(UserJson::from(&account)).into_response())
}
