//! Queries over many rides: ledger, lift tables, leaderboard, breakdowns of a day, live counts.

use axum::{Json, extract::State, response::IntoResponse};
use http::Uri;

use super::{
    app::RidesApp,
    dto::{
        HoursJson, LeaderJson, LeadersJson, LedgerJson, LiftTableJson, LiftTablesJson, LiftsJson,
    },
    live::LiveJson,
    query,
};
use crate::{error::HttpResult, request::RequestContext};

/// Get the ledger of all events.
///
/// How many events were stored, repeated or refused.
#[utoipa::path(get, path = "/api/rides/ledger", operation_id = "getRideLedger", tag = "rides", responses((status = 200, body = LedgerJson)))]
pub(super) async fn ledger(State(app): State<RidesApp>) -> HttpResult {
    Ok(Json(LedgerJson::from(app.rides.ledger().await?)).into_response())
}

/// List the resorts with their lifts.
#[utoipa::path(get, path = "/api/rides/resorts", operation_id = "getLiftTables", tag = "rides", responses((status = 200, body = LiftTablesJson)))]
pub(super) async fn resorts(State(app): State<RidesApp>) -> HttpResult {
    let catalog = app.rides.catalog();
    let resorts = catalog.resorts().map(|(id, resort)| LiftTableJson::of(id, resort)).collect();
    let vertical_unit = catalog.unit().name();
    Ok(Json(LiftTablesJson { vertical_unit, resorts }).into_response())
}

/// List the skiers with the most vertical.
///
/// On a day or in a season.
///
/// `profile` is the nickname and picture of the account that has the skier's pass, if that account allows them on
/// leaderboards. Do not store it: the account can withdraw it at any time.
#[utoipa::path(get, path = "/api/rides/leaderboard", operation_id = "getLeaderboard", tag = "rides",
    params(("resort" = u16, Query, example = 1), ("season" = String, Query, example = "2025"), ("day" = Option<u16>, Query, description = "If absent, the whole season"), ("limit" = Option<u8>, Query, description = "1 to 100; 10 if absent")),
    responses((status = 200, body = LeadersJson), (status = 400, description = "Invalid parameter; the message names it")))]
pub(super) async fn leaderboard(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let (span, limit) = query::leaders(uri.query(), app.rides.catalog())?;
    let leaders = app.rides.tallies().leaders(span, limit).await?;
    let leaders = app.named(leaders).await?.into_iter().enumerate();
    let leaders = leaders.map(LeaderJson::at).collect();
    Ok(Json(LeadersJson { leaders }).into_response())
}

/// Count the rides of a day by lift.
#[utoipa::path(get, path = "/api/rides/lifts", operation_id = "getRidesByLift", tag = "rides",
    params(("resort" = u16, Query, example = 1), ("season" = String, Query, example = "2025"), ("day" = u16, Query, example = 1)),
    responses((status = 200, body = LiftsJson), (status = 400, description = "Invalid parameter; the message names it")))]
pub(super) async fn lifts(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let on = query::day(uri.query(), app.rides.catalog())?;
    let lifts = app.rides.tallies().breakdown(on).await?.lifts;
    Ok(Json(LiftsJson { lifts: lifts.into_iter().map(Into::into).collect() }).into_response())
}

/// Count the rides of a day by hour.
#[utoipa::path(get, path = "/api/rides/hours", operation_id = "getRidesByHour", tag = "rides",
    params(("resort" = u16, Query, example = 1), ("season" = String, Query, example = "2025"), ("day" = u16, Query, example = 1)),
    responses((status = 200, body = HoursJson), (status = 400, description = "Invalid parameter; the message names it")))]
pub(super) async fn hours(State(app): State<RidesApp>, uri: Uri) -> HttpResult {
    let on = query::day(uri.query(), app.rides.catalog())?;
    let hours = app.rides.tallies().breakdown(on).await?.hours;
    Ok(Json(HoursJson { hours: hours.into_iter().map(Into::into).collect() }).into_response())
}

/// Stream the counts of the newest day.
///
/// Server-sent events: the counts of the newest day, once on connection and then on each change, at most once
/// a second. An event `heartbeat` carries no data; it is sent when nothing else was sent for 15 seconds.
#[utoipa::path(get, path = "/api/rides/live", operation_id = "hearRides", tag = "rides",
    responses((status = 200, description = "The `data` of each event is this object", content_type = "text/event-stream", body = LiveJson),
        (status = 429, description = "Too many streams for this address; see Retry-After"), (status = 503, description = "Too many streams; see Retry-After")))]
pub(super) async fn live(State(app): State<RidesApp>, asked: RequestContext) -> HttpResult {
    Ok(app.live.stream(&app.rides, asked.client)?)
}
