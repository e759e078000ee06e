//! Pictures: sent, taken away, and shown to everybody.

use axum::{Json, body::Body, extract::State, response::IntoResponse};
use http::{HeaderMap, StatusCode};
use lodge_domain::{
    accounts::{Account, SessionDigest, SignedIn},
    pictures::Shape,
};
use utoipa_axum::routes;

use super::{app::AccountsApp, dto::AccountJson};
use crate::{
    answers::private,
    body::Held,
    error::{HttpResult, Problem},
    multipart::is_form,
    pictures,
    request::{Asked, Segment},
    routes::Routes,
};

/// What has a name never changes. Browsers keep it; caches that many share do not, so that what was taken
/// away is gone.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// Where somebody's own picture is sent.
const MINE: &str = "/api/me/picture";

/// Whether a request may bring a picture, and so take as long as one.
pub(crate) fn may_come(path: &str, headers: &HeaderMap) -> bool {
    path == MINE || is_form(headers)
}

pub(super) fn routes() -> Routes<AccountsApp> {
    Routes::default().api(routes!(put)).api(routes!(take_away)).api(routes!(get))
}

/// Sets somebody's picture to the one in a file of theirs, which is let go of as soon as it is decoded.
pub(crate) async fn set(
    app: &AccountsApp,
    session: SessionDigest,
    me: &SignedIn,
    upload: Held<'_>,
) -> Result<Account, Problem> {
    let picture = app.pictures.decoded(upload.bytes.clone()).await?;
    drop(upload);
    Ok(app.pictures.set(session, me, picture).await?)
}

/// Set one's picture.
///
/// It is cut to the square in its middle and made anew, at 256 and at 64 pixels a side: nothing else of the
/// file is kept, such as where it was taken. Of an animation the first frame is taken.
#[utoipa::path(put, path = "/api/me/picture", operation_id = "set_picture", tag = "accounts",
    request_body(content = String, content_type = "application/octet-stream", description = "The bytes of a JPEG, PNG, WebP or GIF"),
    responses((status = 200, body = AccountJson), (status = 400, description = "It cannot be taken; the answer says why"), (status = 401, description = "The session is not known, or has ended"),
        (status = 413, description = "It is longer than is taken here"), (status = 429, description = "Too many; see Retry-After"), (status = 503, description = "Too many pictures wait; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn put(State(app): State<AccountsApp>, asked: Asked, body: Body) -> HttpResult {
    let session = asked.session()?;
    // Before the body is read, which may be long.
    let me = app.accounts.who(session).await?;
    app.uploads.admit(asked.client)?;
    let upload = app.uploads.read(asked.client, body, 0).await?;
    let account = set(&app, session, &me, upload).await?;
    Ok(private(Json(AccountJson::from(&account))))
}

/// Take one's picture away.
#[utoipa::path(delete, path = "/api/me/picture", operation_id = "take_picture_away", tag = "accounts",
    responses((status = 204, description = "There is none any more"), (status = 401, description = "The session is not known, or has ended")),
    security(("session" = [])))]
pub(crate) async fn take_away(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    app.pictures.take_away(asked.session()?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// A picture, in one of its sizes. What is at one place never changes.
#[utoipa::path(get, path = "/-/pictures/{id}/{size}", operation_id = "picture", tag = "accounts",
    params(("id" = String, Path, description = "As the account says it"), ("size" = u32, Path, description = "256 or 64: pixels a side")),
    responses((status = 200, description = "The picture", content_type = "image/jpeg"), (status = 404, description = "There is no such picture")))]
pub(crate) async fn get(
    State(app): State<AccountsApp>,
    Segment((id, size)): Segment<(String, String)>,
    headers: HeaderMap,
) -> HttpResult {
    let (id, size) = pictures::named(&id, Shape::Square, &size)?;
    let bytes = app.pictures.get(id, size).await?;
    pictures::answer(id, size, bytes, FOR_EVER, &headers)
}
