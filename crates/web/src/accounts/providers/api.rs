//! Sign-in providers in the JSON API.

use axum::{Json, extract::State, response::IntoResponse};
use http::StatusCode;
use lodge_domain::accounts::NO_PROVIDER;
use utoipa_axum::routes;

use super::redirect::named;
use crate::{
    accounts::{
        app::AccountsApp,
        dto::{CurrentPassword, LinkedJson, LinkedListJson, ProviderJson, ProvidersJson},
    },
    body::FullBody,
    error::HttpResult,
    request::{CredentialRateLimit, PathParam, RequestContext},
    responses::private,
    routes::Routes,
};

pub(super) fn routes() -> Routes<AccountsApp> {
    Routes::default().api(routes!(providers)).api(routes!(mine)).api(routes!(unlink))
}

/// List the sign-in providers.
///
/// A browser signs in at `/login/by/{name}`.
#[utoipa::path(get, path = "/api/providers", tag = "providers",
    responses((status = 200, body = ProvidersJson)))]
pub(crate) async fn providers(State(app): State<AccountsApp>) -> HttpResult {
    let providers = app.accounts.providers().await?;
    let providers = providers.into_iter().map(ProviderJson::from).collect();
    Ok(Json(ProvidersJson { providers }).into_response())
}

/// List the provider identities linked to your account.
#[utoipa::path(get, path = "/api/me/providers", operation_id = "my_providers", tag = "providers",
    responses((status = 200, body = LinkedListJson), (status = 401, description = "Unknown or ended session")),
    security(("session" = [])))]
pub(crate) async fn mine(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    let linked = app.accounts.identities(asked.session()?).await?;
    let linked = linked.into_iter().map(LinkedJson::from).collect();
    Ok(private(Json(LinkedListJson { linked })))
}

/// Unlink a provider from your account.
///
/// Requires the current password, if the account has one. All other sessions end.
#[utoipa::path(delete, path = "/api/me/providers/{provider}", operation_id = "unlink_provider", tag = "providers", params(("provider" = String, Path, example = "google")),
    request_body = Option<CurrentPassword>,
    responses((status = 204, description = "The provider is unlinked"), (status = 400, description = "The current password is missing or malformed"), (status = 401, description = "Unknown or ended session"),
        (status = 403, description = "The current password is wrong; or the account has none, and its owner has not signed in again at the provider within ten minutes"), (status = 429, description = "Too many failed attempts; see Retry-After"),
        (status = 404, description = "No such provider, or it is not linked"), (status = 409, description = "It is the only way to sign in: set a password first")),
    security(("session" = [])))]
pub(crate) async fn unlink(
    State(app): State<AccountsApp>,
    PathParam(name): PathParam,
    _: CredentialRateLimit,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let (session, name) = (asked.session()?, named(&name)?);
    let current = CurrentPassword::in_body(&asked.headers, &body)?;
    let mut providers = app.accounts.providers().await?.into_iter();
    let provider = providers.find(|provider| provider.name == name).ok_or(NO_PROVIDER)?;
    let from = asked.client.limited_by();
    app.accounts.unlink(session, provider.issuer, current, from).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
