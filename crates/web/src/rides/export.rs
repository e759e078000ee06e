//! A season as CSV.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::{Uri, header};
use lodge_domain::{
    Error, Result,
    rides::{ResortId, RidePlace, Season, StoredRide},
};

use super::{RidesApp, query};
use crate::{error::HttpResult, request::Asked};

/// Events that are read at once.
const PAGE: usize = 2_000;

/// How long an export may take; its place is somebody else's then.
const TIME_MAX: Duration = Duration::from_hours(1);

const HEAD: [&str; 12] = [
    "event",
    "gate",
    "seasonID",
    "resortID",
    "resort",
    "dayID",
    "skierID",
    "time",
    "liftID",
    "vertical",
    "voids",
    "received_at",
];

/// A season's rides, and the events that void some of them, as CSV: by resort and day, and there in the order
/// in which they came.
///
/// What is not sent whole is broken off, before the last chunk: where the store fails, where the server stops, and
/// after an hour.
#[utoipa::path(get, path = "/api/rides/export.csv", tag = "rides",
    params(("season" = String, Query, example = "2025"), ("resort" = Option<u16>, Query)),
    responses((status = 200, description = "A head line, and a line for each event", content_type = "text/csv"),
        (status = 400, description = "A parameter cannot be; the answer says which"),
        (status = 429, description = "Too many exports go to this address; see Retry-After"), (status = 503, description = "Too many exports are under way; see Retry-After")))]
pub(super) async fn season_csv(State(app): State<RidesApp>, asked: Asked, uri: Uri) -> HttpResult {
    let (season, resort) = query::season(uri.query(), &app.rides.mountain)?;
    let place = app.exports.place(asked.client)?;
    // Before the head is sent, so that what fails at once has its status.
    let first = page(&app, season, resort, None).await?;
    let begun = (app, Some((head()?, first)));
    let pages = stream::try_unfold(begun, move |(app, next)| async move {
        let Some((bytes, after)) = next else { return Ok::<_, Error>(None) };
        let next = match after {
            Some(Page { lines, last }) => {
                let after = page(&app, season, resort, Some(last)).await?;
                Some((lines, after))
            }
            None => None,
        };
        Ok(Some((bytes, (app, next))))
    });
    let named = format!("attachment; filename=\"rides-{season}.csv\"");
    let headers =
        [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    let mut response: Response = (headers, place.body(pages, TIME_MAX)).into_response();
    let named = named.parse().map_err(Error::internal)?;
    response.headers_mut().insert(header::CONTENT_DISPOSITION, named);
    Ok(response)
}

struct Page {
    lines: Bytes,
    last: RidePlace,
}

/// The next page, if there is one.
async fn page(
    app: &RidesApp,
    season: Season,
    resort: Option<ResortId>,
    after: Option<RidePlace>,
) -> Result<Option<Page>> {
    let events = app.rides.season_page(season, resort, after, PAGE).await?;
    let Some(last) = events.last().map(|event| event.place) else { return Ok(None) };
    let mut csv = csv::Writer::from_writer(Vec::new());
    for event in events {
        write(app, &mut csv, event).map_err(Error::internal)?;
    }
    Ok(Some(Page { lines: finished(csv)?, last }))
}

fn head() -> Result<Bytes> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(HEAD).map_err(Error::internal)?;
    finished(csv)
}

fn write(app: &RidesApp, csv: &mut csv::Writer<Vec<u8>>, event: StoredRide) -> csv::Result<()> {
    let StoredRide { gate, id, ride, voids, at, .. } = event;
    let on = ride.on;
    csv.write_record([
        &id.to_string(),
        &gate.0.to_string(),
        &on.season.to_string(),
        &on.resort.to_string(),
        app.rides.mountain.resort_name(on.resort),
        &on.day.to_string(),
        &ride.skier.to_string(),
        &ride.minute.to_string(),
        &ride.lift.to_string(),
        &ride.vertical.to_string(),
        &voids.map(|id| id.to_string()).unwrap_or_default(),
        &at.to_string(),
    ])
}

fn finished(csv: csv::Writer<Vec<u8>>) -> Result<Bytes> {
    csv.into_inner().map(Bytes::from).map_err(|error| Error::internal(error.to_string()))
}
