//! The course's published API of lift rides: its paths, fields and statuses are fixed.

use axum::{
    Json,
    extract::{Request, State},
    response::IntoResponse,
};
use http::{StatusCode, Uri};
use lodge_domain::{
    Error, Result,
    rides::{EventOutcome, NewEvent, ResortId, RideEventContent, Season, Sender, Span},
};
use serde::Deserialize;

use super::{
    app::{KEY_HEADER, RidesApp, event_id, is_duplicate},
    dto::{
        Id, IdJson, NewSeasonJson, ResortDayJson, ResortJson, ResortsJson, RideJson, SeasonsJson,
        VerticalAnswer, VerticalJson,
    },
    number::{self, Number, SeasonNumber},
    query::VerticalFilter,
};
use crate::{
    body::FullBody,
    edge::{address::Client, idempotency},
    error::{HttpResult, Problem},
    json::{self, not_null, required},
    request::{self, with_field_name},
    responses,
};

/// The longest body of a ride, in bytes: twenty times the usual size.
const RIDE_BYTES_MAX: usize = 1024;

/// The body of a ride; the path holds resort, season, day and skier.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    #[serde(default, deserialize_with = "not_null")]
    time: Option<Number>,
    #[serde(rename = "liftID", default, deserialize_with = "not_null")]
    lift: Option<Number>,
}

/// A season to list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSeason {
    #[serde(default, deserialize_with = "not_null")]
    year: Option<SeasonNumber>,
}

/// Record a ride.
///
/// A repeat with the same `Idempotency-Key` gets the original answer and counts once.
#[utoipa::path(post, path = "/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}", operation_id = "writeNewLiftRide", tag = "skiers",
    request_body = RideJson,
    params(("resortID" = u16, Path, example = 1), ("seasonID" = String, Path, example = "2025"), ("dayID" = String, Path, example = "1"), ("skierID" = u32, Path, example = 7),
        ("Idempotency-Key" = Option<String>, Header, description = "Permanent id of the event: 1 to 128 printable ASCII characters; a UUID is returned in lower case; if absent, the server generates an id")),
    responses((status = 201, description = "Stored", body = IdJson), (status = 400, description = "Invalid request, the message says why; or the Idempotency-Key was used for another ride"),
        (status = 401, description = "Unknown or revoked gate key; or this deployment requires a gate key"), (status = 403, description = "The gate key is for another resort; or a page of another site sent the request"),
        (status = 429, description = "Too many events from this address without a gate key; see Retry-After"),
        (status = 503, description = "Retry with the same Idempotency-Key; see Retry-After")),
    security((), ("gate" = [])))]
pub(super) async fn ride(State(app): State<RidesApp>, request: Request) -> HttpResult {
    let (client, sender, event) = read(&app, request).await.inspect_err(|_| app.rides.refuse(1))?;
    app.admit(client, &sender, 1).inspect_err(|_| app.refuse_limited(1))?;
    let gate = sender.id();
    let outcome = app.rides.record(gate, None, vec![event]).await?.pop();
    let Some(EventOutcome { id, recorded }) = outcome else {
        return Err(Error::internal("an event without an outcome").into());
    };
    let before = is_duplicate(recorded, KEY_HEADER)?;
    let answer = (StatusCode::CREATED, Json(IdJson { id: Id(&id) })).into_response();
    Ok(responses::mark_replayed(answer, before))
}

async fn read(app: &RidesApp, request: Request) -> Result<(Client, Sender, NewEvent), Problem> {
    let (parts, body) = request.into_parts();
    let client = request::client(&parts.extensions)?;
    let sender = app.sender(&parts.headers).await?;
    let catalog = app.rides.catalog();
    let [resort, season, day, skier] = number::in_path(parts.uri.path());
    let on = catalog.resort_day(resort, season, day)?;
    let skier = catalog.skier(skier)?;
    json::is_of_kind(&parts.headers, &["application/json"])?;
    let id = match idempotency::key(&parts.headers)? {
        Some(key) => Some(event_id(KEY_HEADER, key)?),
        None => None,
    };
    let memory = app.site.body_budget.begin(RidesApp::body_sender(client, &sender));
    let held = FullBody::up_to(RIDE_BYTES_MAX, &app.site, body, memory).await?;
    let said: Body = json::object(&held.bytes)?;
    let (time, lift) = (required("time", said.time)?.0, required("liftID", said.lift)?.0);
    let ride = catalog.ride(on, skier, time, lift)?;
    let what = RideEventContent::Ride(ride);
    sender.check(&what)?;
    Ok((client, sender, NewEvent { id, what }))
}

/// Count the skiers of a resort on a day.
#[utoipa::path(get, path = "/resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers", operation_id = "getResortSkiersDay", tag = "resorts",
    description = "`/days/` is accepted as well as `/day/`.",
    params(("resortID" = u16, Path, example = 1), ("seasonID" = String, Path, example = "2025"), ("dayID" = String, Path, example = "1")),
    responses((status = 200, body = ResortDayJson), (status = 400, description = "Invalid number; the message names it")))]
pub(super) async fn resort_day(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let [resort, season, day] = number::in_path(uri.path());
    let on = app.rides.catalog().resort_day(resort, season, day)?;
    let total = app.rides.tallies().total(Span::from(on)).await?;
    let time = app.rides.catalog().resort_name(on.resort);
    Ok(Json(ResortDayJson { time, skiers: total.skiers }).into_response())
}

/// Get a skier's vertical on a day.
///
/// As a bare number.
#[utoipa::path(get, path = "/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}", operation_id = "getSkierDayVertical", tag = "skiers",
    params(("resortID" = u16, Path, example = 1), ("seasonID" = String, Path, example = "2025"), ("dayID" = String, Path, example = "1"), ("skierID" = u32, Path, example = 7)),
    responses((status = 200, description = "The vertical", body = u64, content_type = "application/json", example = json!(210)), (status = 400, description = "Invalid number; the message names it"),
        (status = 404, description = "The skier has no ride on that day")))]
pub(super) async fn skier_day(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let [resort, season, day, skier] = number::in_path(uri.path());
    let on = app.rides.catalog().resort_day(resort, season, day)?;
    let skier = app.rides.catalog().skier(skier)?;
    let tally = app.rides.tallies().skier_day(skier, on).await?;
    let tally = tally.ok_or(Error::not_found("this skier has no ride on that day"))?;
    Ok(Json(tally.vertical).into_response())
}

/// Get a skier's vertical by season.
#[utoipa::path(get, path = "/skiers/{skierID}/vertical", operation_id = "getSkierResortTotals", tag = "skiers",
    description = "Without parameters the total, as a bare number. Separate the items of a list by commas, or repeat the parameter.",
    params(("skierID" = u32, Path, example = 7), ("resort" = Option<Vec<u16>>, Query, style = Form, explode, description = "Only these resorts", example = json!([1])), ("season" = Option<Vec<String>>, Query, style = Form, explode, description = "Only these seasons")),
    responses((status = 200, body = VerticalAnswer), (status = 400, description = "Invalid number; the message names it"),
        (status = 404, description = "The skier has no such ride")))]
pub(super) async fn vertical(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let [skier] = number::in_path(uri.path());
    let skier = app.rides.catalog().skier(skier)?;
    let choice = VerticalFilter::parse(uri.query(), app.rides.catalog())?;
    let is_chosen = choice.is_some();
    let VerticalFilter { resorts, seasons } = choice.unwrap_or_default();
    let seasons = app.rides.tallies().skier_seasons(skier, resorts, seasons).await?;
    if seasons.is_empty() {
        return Err(Error::not_found(if is_chosen {
            "this skier has no rides at these resorts in these seasons"
        } else {
            "this skier has no rides"
        })
        .into());
    }
    let answer = if is_chosen {
        let resorts = seasons.into_iter().map(Into::into).collect();
        VerticalAnswer::Seasons(VerticalJson { resorts })
    } else {
        VerticalAnswer::Total(seasons.iter().map(|season| season.vertical).sum())
    };
    Ok(Json(answer).into_response())
}

/// List the resorts.
#[utoipa::path(get, path = "/resorts", operation_id = "getResorts", tag = "resorts", responses((status = 200, body = ResortsJson)))]
pub(super) async fn resorts(State(app): State<RidesApp>) -> HttpResult {
    let resorts = app.rides.catalog().resorts();
    let resorts = resorts.map(|(id, resort)| ResortJson { name: &resort.name, id: id.0 });
    Ok(Json(ResortsJson { resorts: resorts.collect() }).into_response())
}

/// List the seasons of a resort.
///
/// Those with rides, and those that were added.
#[utoipa::path(get, path = "/resorts/{resortID}/seasons", operation_id = "getResortSeasons", tag = "resorts", params(("resortID" = u16, Path, example = 1)),
    responses((status = 200, body = SeasonsJson), (status = 400, description = "Unknown resort")))]
pub(super) async fn seasons(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let [resort] = number::in_path(uri.path());
    let (resort, _) = app.rides.catalog().resort(resort)?;
    let seasons = app.rides.seasons(resort).await?;
    let seasons = seasons.iter().map(ToString::to_string).collect();
    Ok(Json(SeasonsJson { seasons }).into_response())
}

/// Add a season to a resort.
///
/// The season is listed even without rides. A repeat changes nothing. Needs the right to send rides of the resort.
#[utoipa::path(post, path = "/resorts/{resortID}/seasons", operation_id = "addSeason", tag = "resorts",
    request_body = NewSeasonJson, params(("resortID" = u16, Path, example = 1)),
    responses((status = 201, description = "The season is listed"), (status = 400, description = "Invalid request; the message says why"),
        (status = 401, description = "Unknown or revoked gate key; or this deployment requires a gate key"), (status = 403, description = "The gate key is for another resort; or a page of another site sent the request")),
    security((), ("gate" = [])))]
pub(super) async fn add_season(State(app): State<RidesApp>, request: Request) -> HttpResult {
    let (resort, season) = new_season(&app, request).await?;
    app.rides.add_season(resort, season).await?;
    Ok(StatusCode::CREATED.into_response())
}

async fn new_season(app: &RidesApp, request: Request) -> Result<(ResortId, Season), Problem> {
    let (parts, body) = request.into_parts();
    let client = request::client(&parts.extensions)?;
    let sender = app.sender(&parts.headers).await?;
    let [resort] = number::in_path(parts.uri.path());
    let (resort, _) = app.rides.catalog().resort(resort)?;
    json::is_of_kind(&parts.headers, &["application/json"])?;
    let memory = app.site.body_budget.begin(RidesApp::body_sender(client, &sender));
    let held = FullBody::up_to(RIDE_BYTES_MAX, &app.site, body, memory).await?;
    let said: NewSeason = json::object(&held.bytes)?;
    let season = app.rides.catalog().season(required("year", said.year)?.0);
    let season = season.map_err(|error| with_field_name("year", error))?;
    sender.check_resort(resort)?;
    app.admit(client, &sender, 1)?;
    Ok((resort, season))
}
