//! The JSON API. Handlers parse, call the service once, and render.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Email, Nickname, SessionId, Username},
};
use utoipa_axum::routes;

use super::{
    app::AccountsApp,
    dto::{
        AccountJson, BeginSession, ChangePassword, CreateAccount, DeleteAccount, EditAccount,
        ExportJson, ResetPassword, SessionJson, SessionToken, SessionsJson, UserJson,
    },
    export::exported,
};
use crate::{
    answers::{self, private},
    body::Whole,
    edge::limits,
    error::HttpResult,
    json::{self, JsonBody},
    request::{Asked, OneAttempt, Segment},
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

/// Make an account.
#[utoipa::path(post, path = "/api/accounts", tag = "accounts", request_body = CreateAccount,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 printable characters; a repetition within 24 h, whatever its password, is answered with the account as it is by then")),
    responses((status = 201, body = AccountJson), (status = 400, description = "Something in the request cannot be; the answer says what"),
        (status = 403, description = "Accounts are made by the administrators here"), (status = 409, description = "The name is taken"),
        (status = 410, description = "This request made an account, which is deleted since"), (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 429, description = "Too many; see Retry-After"), (status = 503, description = "Try again, with the same Idempotency-Key")))]
pub(crate) async fn sign_up(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    limits::take(app.sign_ups.as_ref(), asked.client)?;
    let wish: CreateAccount = json::body_of(&asked.headers, &body)?;
    let wish = wish.parse()?;
    // All but the password, which is not to be guessed from what is kept of this.
    let nickname = wish.nickname.as_ref().map(Nickname::as_str).unwrap_or_default();
    let email = wish.email.as_ref().map(Email::as_str).unwrap_or_default();
    let said = [wish.username.as_str(), nickname, email].map(str::as_bytes);
    let attempt = asked.attempt_of("anonymous", "/api/accounts", &said)?;
    let done = app.accounts.sign_up(wish, attempt).await?;
    let done = done.map(|made| made.ok_or(Error::conflict("this name is taken")));
    Ok(answers::told(done, |account| {
        let account = Json(AccountJson::from(&account));
        (StatusCode::CREATED, account).into_response()
    }))
}

/// Sign in.
///
/// Whether a name is known, has a password or is banned shows neither in the answer nor in its time.
#[utoipa::path(post, path = "/api/session", tag = "accounts", request_body = BeginSession,
    responses((status = 200, body = SessionToken), (status = 401, description = "The name or the password is wrong"),
        (status = 403, description = "The password is right, and the account is banned"),
        (status = 429, description = "Too many failures; see Retry-After"), (status = 503, description = "Too many passwords wait; see Retry-After")))]
pub(crate) async fn sign_in(
    State(app): State<AccountsApp>,
    _: OneAttempt,
    asked: Asked,
    JsonBody(BeginSession { username, password }): JsonBody<BeginSession>,
) -> HttpResult {
    let fresh = signing_in::let_in(&app.accounts, &asked, &username, &password).await?;
    Ok(Json(SessionToken::from(fresh)).into_response())
}

/// Sign out: end the session whose token is sent.
#[utoipa::path(delete, path = "/api/session", tag = "accounts",
    responses((status = 204, description = "The token opens nothing any more"), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn sign_out(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let session = asked.session()?;
    app.accounts.sign_out(session, None).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Set a new password with a one-time code, which an administrator gives out; all sessions end, and no
/// provider opens the account any more.
#[utoipa::path(post, path = "/api/password", tag = "accounts", request_body = ResetPassword,
    responses((status = 204, description = "It is set"), (status = 400, description = "It cannot be; the answer says why"),
        (status = 403, description = "The code does not fit the name, or opens nothing any more"), (status = 429, description = "Too many; see Retry-After")))]
pub(crate) async fn reset_password(
    State(app): State<AccountsApp>,
    _: OneAttempt,
    JsonBody(wish): JsonBody<ResetPassword>,
) -> HttpResult {
    let (name, code, new) = wish.parse()?;
    app.accounts.reset_password(name, code.trim().to_owned().into(), new).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Who am I?
#[utoipa::path(get, path = "/api/me", tag = "accounts",
    responses((status = 200, body = AccountJson), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn me(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let me = app.accounts.who(asked.session()?).await?;
    Ok(private(Json(AccountJson::from(&me.account))))
}

/// Change one's nickname or address.
#[utoipa::path(patch, path = "/api/me", operation_id = "edit_account", tag = "accounts", request_body = EditAccount,
    responses((status = 200, body = AccountJson), (status = 400, description = "Something cannot be; the answer says what"), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn edit(
    State(app): State<AccountsApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let session = asked.session()?;
    let wish: EditAccount = json::body_of(&asked.headers, &body)?;
    let account = app.accounts.edit(session, wish.parse()?).await?;
    Ok(private(Json(AccountJson::from(&account))))
}

/// Delete one's account. Its name is nobody's for 30 days.
#[utoipa::path(delete, path = "/api/me", operation_id = "delete_account", tag = "accounts", request_body = DeleteAccount,
    responses((status = 204, description = "It is gone"), (status = 400, description = "The current password is not said"), (status = 401, description = "The session is not known, or has ended"),
        (status = 403, description = "The current password is another; or there is none, and the session began more than ten minutes ago"), (status = 429, description = "Too many failures; see Retry-After"), (status = 503, description = "Too many passwords wait; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn delete(
    State(app): State<AccountsApp>,
    _: OneAttempt,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let session = asked.session()?;
    let wish: DeleteAccount = json::body_of(&asked.headers, &body)?;
    app.accounts.delete(session, wish.parse()?, asked.client.limited_by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Change one's password; all other sessions end.
#[utoipa::path(put, path = "/api/me/password", tag = "accounts", request_body = ChangePassword,
    responses((status = 204, description = "It is changed"), (status = 400, description = "It cannot be; the answer says why"), (status = 401, description = "The session is not known, or has ended"),
        (status = 403, description = "The current password is another; or there is none, and the session began more than ten minutes ago"), (status = 429, description = "Too many failures; see Retry-After"), (status = 503, description = "Too many passwords wait; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn change_password(
    State(app): State<AccountsApp>,
    _: OneAttempt,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let session = asked.session()?;
    let me = app.accounts.who(session).await?;
    let wish: ChangePassword = json::body_of(&asked.headers, &body)?;
    let (current, new) = wish.parse(&me)?;
    app.accounts.change_password(session, current, new, asked.client.limited_by()).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Where one is signed in, newest first.
#[utoipa::path(get, path = "/api/me/sessions", tag = "accounts",
    responses((status = 200, body = SessionsJson), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn sessions(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let session = asked.session()?;
    let me = app.accounts.who(session).await?;
    let sessions = app.accounts.sessions(session).await?.into_iter();
    let sessions = sessions.map(|session| SessionJson::of(session, me.session.id)).collect();
    Ok(private(Json(SessionsJson { sessions })))
}

/// Sign out everywhere, here too.
#[utoipa::path(delete, path = "/api/me/sessions", tag = "accounts",
    responses((status = 204, description = "No token of before opens anything any more"), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn sign_out_everywhere(
    State(app): State<AccountsApp>,
    asked: Asked,
) -> HttpResult {
    let session = asked.session()?;
    app.accounts.sign_out_everywhere(session).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// End one of one's sessions.
#[utoipa::path(delete, path = "/api/me/sessions/{id}", tag = "accounts", params(("id" = String, Path)),
    responses((status = 204, description = "It has ended"), (status = 401, description = "The session is not known, or has ended"), (status = 404, description = "There is no such session")),
    security(("session" = [])))]
pub(crate) async fn end_session(
    State(app): State<AccountsApp>,
    Segment(segment): Segment,
    asked: Asked,
) -> HttpResult {
    let session = asked.session()?;
    let id = segment.parse().map(SessionId);
    let id = id.map_err(|_| Error::not_found("there is no such session"))?;
    app.accounts.sign_out(session, Some(id)).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// All that is kept about one's account, as a file. One's links are at `/api/links`. What is not sent whole is broken
/// off, before the last chunk.
#[utoipa::path(get, path = "/api/me/export", tag = "accounts",
    responses((status = 200, body = ExportJson), (status = 401, description = "The session is not known, or has ended"),
        (status = 429, description = "Too many such files go to this address; see Retry-After"), (status = 503, description = "Too many are under way; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn export(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    exported(&app, asked.session()?, asked.client).await
}

/// What everybody may know of an account.
#[utoipa::path(get, path = "/api/users/{username}", tag = "accounts", params(("username" = String, Path, example = "ann")),
    responses((status = 200, body = UserJson), (status = 404, description = "There is no such account")))]
pub(crate) async fn user(State(app): State<AccountsApp>, Segment(segment): Segment) -> HttpResult {
    let name = Username::parse(&segment);
    let name = name.map_err(|_| Error::not_found("there is no such account"))?;
    let account = app.accounts.user(name).await?;
    Ok(Json(UserJson::from(&account)).into_response())
}
