//! Following a link.

use axum::{
    body::Body,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use lodge_domain::{
    Error,
    links::{Follow, Link, Links, Short, Visit},
    passwords::Password,
};
use serde::Deserialize;

use crate::{
    body::FullBody,
    edge::{headers::POLICY_FORM_LEADS_AWAY, limits},
    error::HttpResult,
    links::app::{LinksApp, short_of},
    request::{self, PathParam, RequestContext},
};

/// No redirect is cached, so that edits take effect and clicks are counted. Browsers would otherwise follow a
/// permanent redirect for ever without a request.
const NO_STORE: HeaderValue = HeaderValue::from_static("private, no-store");

/// Answers a GET of a plain link that is cached in this process; `None` for all other requests.
pub(crate) fn redirect_cached<B>(links: &Links, request: &Request<B>) -> Option<Response> {
    if request.method() != Method::GET {
        return None;
    }
    let short = request.uri().path().strip_prefix('/')?;
    let link = links.follow_at_once(short, &visit(request.headers()))?;
    redirect(&link)
}

/// Follow a link.
///
/// HEAD counts no click. It answers a plain link like GET, and any other link with 200 and no target. `/{short}+` is a
/// preview page.
#[utoipa::path(get, path = "/{short}", tag = "redirects", params(("short" = String, Path, example = "gg")),
    responses((status = 307, description = "Redirect to the target; 301, 302 or 308 if the link is set so", headers(("Location" = String))),
        (status = 200, description = "The link needs a password: a page with a form"), (status = 404, description = "No such link"),
        (status = 410, description = "The link has expired, has reached its click limit, or was deleted"), (status = 503, description = "Retry later; see Retry-After")))]
pub(crate) async fn follow(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    if let Some(short) = segment.strip_suffix('+') {
        return super::pages::preview(&app, &short_of(short)?, &asked).await;
    }
    let short = short_of(&segment)?;
    if asked.method == Method::HEAD {
        return head(&app.links, &short).await;
    }
    match app.links.follow(&short, &visit(&asked.headers)).await? {
        Follow::To(link) => Ok(redirect(&link).ok_or_else(invalid_location)?),
        Follow::Password(link) => Ok(ask_for_password(&app, &link, StatusCode::OK, None)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PasswordForm {
    password: String,
}

/// `POST /{short}` with the password of a protected link.
pub(crate) async fn follow_with_password(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let short = short_of(&segment)?;
    let link = app.links.live(&short).await?;
    limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    let said: PasswordForm = request::form(&body)?;
    let again =
        |status, why: Error| Ok(ask_for_password(&app, &link, status, Some(why.to_string())));
    let password = match Password::parse("password", said.password) {
        Ok(password) => password,
        Err(error) => return again(StatusCode::BAD_REQUEST, error),
    };
    let (visit, from) = (visit(&asked.headers), asked.client.limited_by());
    match app.links.follow_with_password(&short, password, &visit, from).await {
        // 303, so that the browser does not post the password to the target.
        Ok(link) => Ok(redirect_with(&link, StatusCode::SEE_OTHER).ok_or_else(invalid_location)?),
        Err(error @ Error::Forbidden(_)) => again(StatusCode::FORBIDDEN, error),
        Err(error) => Err(error.into()),
    }
}

/// Reads the `Referer`, `User-Agent` and `Host` headers of a click.
pub(crate) fn visit(headers: &HeaderMap) -> Visit<'_> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    Visit {
        referrer: text(header::REFERER),
        user_agent: text(header::USER_AGENT),
        own_host: text(header::HOST),
    }
}

/// Answers HEAD without counting a click. The answer for a limited or protected link does not reveal its target.
async fn head(links: &Links, short: &Short) -> HttpResult {
    let link = links.live(short).await?;
    if link.is_plain() {
        return Ok(redirect(&link).ok_or_else(invalid_location)?);
    }
    Ok(([(header::CACHE_CONTROL, NO_STORE)], StatusCode::OK).into_response())
}

fn redirect(link: &Link) -> Option<Response> {
    redirect_with(link, StatusCode::from_u16(link.redirect.into()).ok()?)
}

fn redirect_with(link: &Link, status: StatusCode) -> Option<Response> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(4);
    headers.insert(header::LOCATION, HeaderValue::from_str(link.target.as_str()).ok()?);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    Some(response)
}

fn invalid_location() -> Error {
    Error::internal("a stored target is not a valid Location header")
}

fn ask_for_password(
    app: &LinksApp,
    link: &Link,
    status: StatusCode,
    wrong: Option<String>,
) -> Response {
    let mut response = super::pages::password(app, link, wrong);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY_FORM_LEADS_AWAY);
    response
}
