//! Account pictures: upload, removal and download.

use axum::{Json, body::Body, extract::State, response::IntoResponse};
use http::{HeaderMap, StatusCode};
use lodge_domain::{
    accounts::{Account, SessionDigest, SignedIn},
    pictures::Shape,
};
use utoipa_axum::routes;

use super::{app::AccountsApp, dto::AccountJson};
use crate::{
    body::BufferedBody,
    error::{HttpResult, Problem},
    multipart::is_form,
    pictures,
    request::{PathParam, RequestContext},
    responses::private,
    routes::Routes,
};

/// A picture at a path never changes. Only browsers may cache it: a shared cache would keep serving removed pictures.
const FOR_EVER: &str = "private, max-age=31536000, immutable";

/// The path of picture uploads in the API.
const MINE: &str = "/api/me/picture";

/// Whether a request may be a picture upload, which gets more time.
pub(crate) fn may_come(path: &str, headers: &HeaderMap) -> bool {
    path == MINE || is_form(headers)
}

pub(super) fn routes() -> Routes<AccountsApp> {
    Routes::default().api(routes!(put)).api(routes!(take_away)).api(routes!(get))
}

/// Sets the picture of an account. The upload is dropped as soon as it is decoded, to free its memory budget.
pub(crate) async fn set(
    app: &AccountsApp,
    session: SessionDigest,
    me: &SignedIn,
    upload: BufferedBody,
) -> Result<Account, Problem> {
    let picture = app.pictures.decoded(upload.bytes.clone()).await?;
    drop(upload);
    Ok(app.pictures.set(session, me, picture).await?)
}

/// Set your picture.
///
/// The picture is cropped to its central square and encoded again with sides of 256 and 64 pixels. Metadata, such as
/// the location, is dropped. Of an animation, the first frame is used.
#[utoipa::path(put, path = "/api/me/picture", operation_id = "set_picture", tag = "profile",
    request_body(content = String, content_type = "application/octet-stream", description = "The bytes of a JPEG, PNG, WebP or GIF"),
    responses((status = 200, body = AccountJson), (status = 400, description = "Not an acceptable picture; `detail` says why"), (status = 401, description = "Unknown or ended session"),
        (status = 413, description = "The picture is too large"), (status = 415, description = "A form instead of a picture"), (status = 429, description = "Too many uploads; see Retry-After"), (status = 503, description = "Too many pictures are being processed; see Retry-After")),
    security(("session" = [])))]
pub(crate) async fn put(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    body: Body,
) -> HttpResult {
    if is_form(&asked.headers) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "the body must be the bytes of the picture, not a form"));
    }
    let session = asked.session()?;
    // Authenticates before the body is read, which may be large.
    let me = app.accounts.who(session).await?;
    app.uploads.admit(asked.client)?;
    let upload = app.uploads.read(asked.client, body, 0).await?;
    let account = set(&app, session, &me, upload).await?;
    Ok(private(Json(AccountJson::from(&account))))
}

/// Remove your picture.
#[utoipa::path(delete, path = "/api/me/picture", operation_id = "take_picture_away", tag = "profile",
    responses((status = 204, description = "The picture is removed, if there was one"), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(crate) async fn take_away(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    app.pictures.take_away(asked.session()?).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Get a picture.
///
/// The picture at a path never changes.
#[utoipa::path(get, path = "/-/pictures/{id}/{size}", operation_id = "picture", tag = "accounts",
    params(("id" = String, Path, description = "From the `picture` of an account", example = "…"), ("size" = u32, Path, description = "256 or 64, in pixels", example = 256)),
    responses((status = 200, description = "The picture", content_type = "image/jpeg"), (status = 404, description = "No such picture")))]
pub(crate) async fn get(
    State(app): State<AccountsApp>,
    PathParam((id, size)): PathParam<(String, String)>,
    headers: HeaderMap,
) -> HttpResult {
    let (id, size) = pictures::named(&id, Shape::Square, &size)?;
    let bytes = app.pictures.get(id, size).await?;
    pictures::answer(id, size, bytes, FOR_EVER, &headers)
}
