//! The JSON API of links. Handlers parse, call the service once, and render.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, header};
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error,
    links::{Caller, Grouping, Link, LinkId, LinkQuery, Short, View},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    dto::{
        BulkAnswer, BulkCreate, BulkLine, ClicksJson, CreateLink, EditLink, LinkJson, LinkPage,
        short_url,
    },
    qr,
};
use crate::{
    body::{FullBody, LONGEST_BODY_BYTES},
    edge::idempotency,
    error::{HttpResult, Problem},
    json,
    links::app::{LinksApp, short_of},
    request::{self, PathParam, QueryParams, RequestContext},
    responses,
    routes::Routes,
};

/// The default `limit`.
const PAGE_DEFAULT: usize = 50;
const PAGE_MAX: usize = 1_000;

pub(super) fn routes() -> Routes<LinksApp> {
    Routes::default()
        .api(routes!(create))
        .api(routes!(list))
        .api(routes!(read))
        .api(routes!(edit))
        .api(routes!(delete))
        .api(routes!(clicks))
        .api(routes!(qr_code))
        .api_within(LONGEST_BODY_BYTES, routes!(create_many))
}

/// Create a link.
///
/// With an API key or a session the link has an owner, and the response has no `manage_key`.
#[utoipa::path(post, path = "/api/links", tag = "links", request_body = CreateLink,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 printable characters; a retry within 24 h returns the original response. Without an API key or a session the retry must come from the same address, unless the key is a UUID of version 4 or 7")),
    responses((status = 201, body = LinkJson, example = json!({"short": "gg", "short_url": "https://go.example/gg", "target": "https://example.org/a/long/path", "redirect": 307, "state": "live", "has_password": false,
            "created_at": "2026-01-31T12:00:00Z", "expires_at": "2030-01-31T12:00:00Z", "max_clicks": null, "clicks_used": null, "tags": [], "version": 1, "changed_at": "2026-01-31T12:00:00Z", "manage_key": "manage_…"})),
        (status = 400, description = "Invalid request; `detail` says why"), (status = 401, description = "The API key or session is not valid, or an API key or a session is needed"),
        (status = 409, description = "The short is taken"), (status = 413, description = "The body is too large"), (status = 415, description = "The Content-Type is not application/json"), (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 429, description = "Too many links created; see Retry-After"), (status = 503, description = "Retry with the same Idempotency-Key")),
    security((), ("api_key" = []), ("session" = [])))]
pub(crate) async fn create(
    State(app): State<LinksApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let input: CreateLink = json::body_of(&asked.headers, &body)?;
    let new = input.parse()?;
    let caller = asked.caller(&app.site).await?;
    let idempotency = asked.idempotency_key(&caller, "/api/links", &[&body])?;
    app.admit_creations(asked.client, &caller, 1, idempotency.as_ref()).await?;
    let done = app.links.create(new, &caller, &asked.here(), idempotency).await?;
    Ok(responses::respond(done, |link| {
        let location = format!("/api/links/{}", link.short);
        let mut response = with_manage_key(&app, StatusCode::CREATED, &asked, &link);
        if let Ok(location) = location.parse() {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }))
}

/// Create up to 1,000 links.
///
/// Each succeeds or fails on its own.
#[utoipa::path(post, path = "/api/bulk/links", tag = "links", request_body = BulkCreate,
    params(("Idempotency-Key" = Option<String>, Header, description = "As for creating a link")),
    responses((status = 200, description = "The results, in the order of the request", body = BulkAnswer, example = json!({"created": 1, "refused": 1, "results": [
            {"status": 201, "link": {"short": "gg", "short_url": "https://go.example/gg", "target": "https://example.org/a/long/path", "redirect": 307, "state": "live", "has_password": false,
                "created_at": "2026-01-31T12:00:00Z", "expires_at": "2030-01-31T12:00:00Z", "max_clicks": null, "clicks_used": null, "tags": [], "version": 1, "changed_at": "2026-01-31T12:00:00Z", "manage_key": "manage_…"}},
            {"status": 409, "detail": "this short is taken; choose another one"}]})),
        (status = 400, description = "The request cannot be read"), (status = 422, description = "The Idempotency-Key was used for another request"),
        (status = 429, description = "Too many links created; see Retry-After"), (status = 503, description = "Retry with the same Idempotency-Key")),
    security((), ("api_key" = []), ("session" = [])))]
pub(crate) async fn create_many(
    State(app): State<LinksApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let request: BulkCreate = json::body_of(&asked.headers, &body)?;
    let count = u32::try_from(request.links.len()).unwrap_or(u32::MAX);
    let caller = asked.caller(&app.site).await?;
    let idempotency = asked.idempotency_key(&caller, "/api/bulk/links", &[&body])?;
    app.admit_creations(asked.client, &caller, count, idempotency.as_ref()).await?;
    let requests = request
        .links
        .into_iter()
        .map(|link| json::nested_object::<CreateLink>(link).and_then(CreateLink::parse));
    let done =
        app.links.create_many(requests.collect(), &caller, &asked.here(), idempotency).await?;
    let results: Vec<BulkLine> =
        done.outcome.into_iter().map(|result| bulk_line(&app, &asked, result)).collect();
    let created = results.iter().filter(|line| line.link.is_some()).count();
    let answer = BulkAnswer { created, refused: results.len() - created, results };
    Ok(responses::mark_replayed(Json(answer).into_response(), done.replayed))
}

fn bulk_line(app: &LinksApp, asked: &RequestContext, result: Result<Link, Error>) -> BulkLine {
    match result {
        Ok(link) => {
            let key = app.links.manage_key(&link);
            let link = LinkJson::managed(&link, &asked.base_url, link.created_at, key);
            BulkLine { status: 201, link: Some(link), detail: None, field: None }
        }
        Err(error) => {
            let problem = Problem::from(error);
            BulkLine {
                status: problem.status.as_u16(),
                link: None,
                detail: Some(problem.detail),
                field: problem.field,
            }
        }
    }
}

/// Get a link.
///
/// Without its manage key or its owner's credentials, only its public fields.
#[utoipa::path(get, path = "/api/links/{short}", tag = "links", params(("short" = String, Path, example = "gg")),
    responses((status = 200, body = LinkJson), (status = 404, description = "No such link"), (status = 410, description = "The link has expired, has reached its click limit, or was deleted")),
    security((), ("api_key" = []), ("session" = []), ("manage_key" = [])))]
pub(crate) async fn read(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let caller = asked.caller(&app.site).await?;
    Ok(match app.links.view(&short, &caller).await? {
        View::Managed(link) => {
            let body = LinkJson::managed(&link, &asked.base_url, asked.at, None);
            tagged(Json(body), link.version)
        }
        View::Public(link) => {
            Json(LinkJson::public(&link, &asked.base_url, asked.at)).into_response()
        }
    })
}

/// Edit a link.
#[utoipa::path(patch, path = "/api/links/{short}", tag = "links", request_body = EditLink,
    params(("short" = String, Path, example = "gg"), ("If-Match" = Option<String>, Header, description = "Edit only this version of the link"), ("Idempotency-Key" = Option<String>, Header, description = "As for creating a link; with `new_manage_key` it must be a UUID of version 4 or 7")),
    responses((status = 200, body = LinkJson), (status = 400, description = "Invalid request; `detail` says why"), (status = 401, description = "A key or a session is needed"),
        (status = 403, description = "The key or session is not this link's, or a manage key was sent for a link with an owner"), (status = 404, description = "No such link"), (status = 410, description = "The link was deleted"),
        (status = 412, description = "The link has another version"), (status = 422, description = "The Idempotency-Key was used for another request")),
    security(("api_key" = []), ("session" = []), ("manage_key" = [])))]
pub(crate) async fn edit(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let short = short_of(&segment)?;
    let request: EditLink = json::body_of(&asked.headers, &body)?;
    let edit = request.parse()?;
    let new_key = edit.new_manage_key;
    if new_key {
        idempotency::check_unguessable(&asked.headers)?;
    }
    let caller = asked.caller(&app.site).await?;
    let idempotency = asked.idempotency_key(
        &caller,
        "/api/links/{short}",
        &[short.as_str().as_bytes(), &body],
    )?;
    app.admit_edit(asked.client, &caller, &edit)?;
    let done = app
        .links
        .edit(&short, edit, &caller, &asked.here(), if_match(&asked.headers)?, idempotency)
        .await?;
    let link = &done.outcome;
    let answer = if new_key {
        with_manage_key(&app, StatusCode::OK, &asked, link)
    } else {
        let body = LinkJson::managed(link, &asked.base_url, link.changed_at, None);
        tagged(Json(body), link.version)
    };
    Ok(responses::mark_replayed(answer, done.replayed))
}

/// Delete a link.
///
/// Its short name stays reserved for a time.
#[utoipa::path(delete, path = "/api/links/{short}", tag = "links",
    params(("short" = String, Path, example = "gg"), ("If-Match" = Option<String>, Header, description = "Delete only this version of the link"), ("Idempotency-Key" = Option<String>, Header, description = "As for creating a link")),
    responses((status = 204, description = "Deleted"), (status = 401, description = "A key or a session is needed"), (status = 403, description = "The key or session is not this link's, or a manage key was sent for a link with an owner"),
        (status = 404, description = "No such link"), (status = 410, description = "The link was deleted"), (status = 412, description = "The link has another version")),
    security(("api_key" = []), ("session" = []), ("manage_key" = [])))]
pub(crate) async fn delete(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let caller = asked.caller(&app.site).await?;
    let idempotency =
        asked.idempotency_key(&caller, "/api/links/{short}", &[short.as_str().as_bytes()])?;
    let done = app.links.delete(&short, &caller, if_match(&asked.headers)?, idempotency).await?;
    Ok(responses::mark_replayed(StatusCode::NO_CONTENT.into_response(), done.replayed))
}

/// A page of the caller's links, and its filters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// The `next` of the previous page.
    after: Option<String>,
    /// Only links with this tag.
    tag: Option<String>,
    /// Only links whose short starts with this.
    prefix: Option<String>,
    /// Only links whose short, target or tags contain these words.
    search: Option<String>,
    /// The most links to return, 1 to 1,000; default 50.
    limit: Option<usize>,
}

/// List the caller's own links, newest first.
#[utoipa::path(get, path = "/api/links", tag = "links", params(ListQuery),
    responses((status = 200, body = LinkPage), (status = 400, description = "Invalid parameter; `detail` says why"), (status = 401, description = "An API key or a session is needed"),
        (status = 429, description = "Too many searches of this owner at once; see Retry-After"), (status = 503, description = "The search took too long, or there are too many; see Retry-After")), security(("api_key" = []), ("session" = [])))]
pub(crate) async fn list(
    State(app): State<LinksApp>,
    QueryParams(query): QueryParams<ListQuery>,
    asked: RequestContext,
) -> HttpResult {
    let Caller::Owner(owner) = asked.caller(&app.site).await? else {
        return Err(Error::unauthenticated("listing links needs an API key or a session").into());
    };
    let limit = request::limit("limit", query.limit, PAGE_DEFAULT, PAGE_MAX)?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let after = some(query.after).map(|after| after.parse().map(LinkId)).transpose();
    let query = LinkQuery {
        owner,
        after: after.map_err(|_| Error::invalid("after", "must be the `next` of another page"))?,
        tag: some(query.tag),
        prefix: some(query.prefix),
        search: some(query.search),
        limit,
    };
    let links = app.list(query).await?;
    let next = links.last().filter(|_| links.len() == limit).map(|link| link.id.0.to_string());
    let links =
        links.iter().map(|link| LinkJson::managed(link, &asked.base_url, asked.at, None)).collect();
    Ok(Json(LinkPage { links, next }).into_response())
}

/// The grouping and the start of a click report.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ClicksQuery {
    /// `day` (default), `hour`, `referrer` or `device`.
    by: Option<String>,
    /// The first day or hour, RFC 3339; default 31 days ago, or 48 hours with `by=hour`.
    since: Option<String>,
}

/// Count the clicks on a link.
#[utoipa::path(get, path = "/api/links/{short}/clicks", tag = "redirects", params(("short" = String, Path, example = "gg"), ClicksQuery),
    responses((status = 200, body = ClicksJson), (status = 400, description = "Invalid parameter; `detail` says why"), (status = 401, description = "A key or a session is needed"),
        (status = 403, description = "The key or session is not this link's, or a manage key was sent for a link with an owner"), (status = 404, description = "No such link"), (status = 410, description = "The link was deleted")),
    security(("api_key" = []), ("session" = []), ("manage_key" = [])))]
pub(crate) async fn clicks(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    QueryParams(query): QueryParams<ClicksQuery>,
    asked: RequestContext,
) -> HttpResult {
    let short = short_of(&segment)?;
    let by: Grouping = query.by.as_deref().unwrap_or("day").parse()?;
    let since = match query.since {
        Some(text) => text
            .parse()
            .map_err(|_| Error::invalid("since", "must be a time such as 2026-01-31T00:00:00Z"))?,
        None => default_since(by, asked.at),
    };
    let caller = asked.caller(&app.site).await?;
    let report = app.links.report(&short, &caller, by, since).await?;
    let lines = report.lines.into_iter().map(Into::into).collect();
    let by = query.by.unwrap_or_else(|| "day".to_owned());
    Ok(Json(ClicksJson { total: report.total, bots: report.bots, by, lines }).into_response())
}

/// Returns the default start of a report, so that it covers 31 days or 48 hours with the current one.
fn default_since(by: Grouping, now: Timestamp) -> Timestamp {
    let hours = if by == Grouping::Hour { 47 } else { 30 * 24 };
    now.checked_sub(SignedDuration::from_hours(hours)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Get the short URL as a QR code.
#[utoipa::path(get, path = "/api/links/{short}/qr.svg", tag = "redirects", params(("short" = String, Path, example = "gg")),
    responses((status = 200, content_type = "image/svg+xml", body = String), (status = 404, description = "No such link")))]
pub(crate) async fn qr_code(
    State(app): State<LinksApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
) -> HttpResult {
    let short: Short = short_of(&segment)?;
    app.links.live(&short).await?;
    let svg = qr::svg(&short_url(&asked.base_url, &short))?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

fn if_match(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let Some(value) = headers.get(header::IF_MATCH) else { return Ok(None) };
    if value == "*" {
        return Ok(None);
    }
    let version = value.to_str().ok().and_then(|value| value.trim_matches('"').parse().ok());
    version
        .map(Some)
        .ok_or_else(|| Error::invalid("If-Match", "must be a link's version, such as \"3\""))
}

fn tagged(body: impl IntoResponse, version: u64) -> Response {
    ([(header::ETAG, format!("\"{version}\""))], body).into_response()
}

fn with_manage_key(
    app: &LinksApp,
    status: StatusCode,
    asked: &RequestContext,
    link: &Link,
) -> Response {
    let key = app.links.manage_key(link);
    let body = LinkJson::managed(link, &asked.base_url, link.changed_at, key);
    (status, tagged(Json::<LinkJson>(body), link.version)).into_response()
}
