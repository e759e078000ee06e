//! Export of a season as CSV.

use std::{borrow::Cow, time::Duration};

use axum::{
    body::Bytes,
    extract::State,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use http::{HeaderMap, Uri, header};
use lodge_domain::{
    Error, Result,
    rides::{GateId, ResortId, RideEventId, RidePosition, Season, StoredRide},
};

use super::{app::RidesApp, query};
use crate::{
    error::HttpResult,
    request::{self, RequestContext},
};

/// Events read from the store per page.
const PAGE: usize = 2_000;

/// Timeout of an export; it then releases its place.
const TIME_MAX: Duration = Duration::from_hours(1);

const COLUMNS: [&str; 10] = [
    "seasonID",
    "resortID",
    "resort",
    "dayID",
    "skierID",
    "time",
    "liftID",
    "rides",
    "vertical",
    "received_at",
];

/// Additional columns for a gate; filled only for its own events.
const COLUMNS_OF_GATES: [&str; 2] = ["event", "voids"];

/// Export a season's rides as CSV.
///
/// Sorted by resort, day and arrival. A voided ride stays, and its void is a line with `rides` -1 and a negative
/// `vertical`, so that sums are right. With a gate key two more columns hold, for the gate's own events, the id of the
/// event and the id of the ride that it voids. An apostrophe is put before text that a spreadsheet would run as a
/// formula.
///
/// An incomplete export has no last chunk: if the store fails, if the server stops, or after an hour.
#[utoipa::path(get, path = "/api/rides/export.csv", operation_id = "exportRides", tag = "rides",
    params(("season" = String, Query, example = "2025"), ("resort" = Option<u16>, Query)),
    responses((status = 200, description = "A header line, then a line for each event", body = String, content_type = "text/csv"),
        (status = 400, description = "Invalid parameter; the message names it"),
        (status = 401, description = "Unknown or revoked gate key"),
        (status = 429, description = "Too many exports for this address; see Retry-After"),
        (status = 503, description = "Too many exports in progress; see Retry-After")),
    security((), ("gate" = [])))]
pub(super) async fn season_csv(
    State(app): State<RidesApp>,
    asked: RequestContext,
    headers: HeaderMap,
    uri: Uri,
) -> HttpResult {
    // An anonymous reader is allowed even where sending requires a gate key.
    let gate = match request::bearer(&headers) {
        Some(_) => Some(app.sender(&headers).await?.id()),
        None => None,
    };
    let (season, resort) = query::season(uri.query(), app.rides.catalog())?;
    let place = app.exports.acquire(asked.client)?;
    let export = Export { app, gate, season, resort };
    // Read before the response starts, so that an early failure has its own status.
    let first = export.page(None).await?;
    let begun = (Some((export.head()?, first)), export);
    let pages = stream::try_unfold(begun, |(next, export)| async move {
        let Some((bytes, after)) = next else { return Ok::<_, Error>(None) };
        let next = match after {
            Some(Page { lines, last }) => Some((lines, export.page(Some(last)).await?)),
            None => None,
        };
        Ok(Some((bytes, (next, export))))
    });
    let named = format!("attachment; filename=\"rides-{season}.csv\"");
    let headers =
        [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    let mut response: Response = (headers, place.body(pages, TIME_MAX)).into_response();
    let named = named.parse().map_err(Error::internal)?;
    response.headers_mut().insert(header::CONTENT_DISPOSITION, named);
    Ok(response)
}

/// The parameters of an export.
struct Export {
    app: RidesApp,
    /// The gate whose events get the additional columns.
    gate: Option<GateId>,
    season: Season,
    resort: Option<ResortId>,
}

struct Page {
    lines: Bytes,
    last: RidePosition,
}

impl Export {
    /// Reads the page after a place; `None` at the end.
    async fn page(&self, after: Option<RidePosition>) -> Result<Option<Page>> {
        let events = self.app.rides.search().page(self.season, self.resort, after, PAGE).await?;
        let Some(last) = events.last().map(|event| event.place) else { return Ok(None) };
        let mut csv = csv::Writer::from_writer(Vec::new());
        for event in &events {
            self.write(&mut csv, event).map_err(Error::internal)?;
        }
        Ok(Some(Page { lines: finished(csv)?, last }))
    }

    fn head(&self) -> Result<Bytes> {
        let of_gates = if self.gate.is_some() { &COLUMNS_OF_GATES[..] } else { &[] };
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(COLUMNS.iter().chain(of_gates)).map_err(Error::internal)?;
        finished(csv)
    }

    fn write(&self, csv: &mut csv::Writer<Vec<u8>>, event: &StoredRide) -> csv::Result<()> {
        let StoredRide { gate, id, ride, voids, at, .. } = event;
        let (on, sign) = (ride.on, if voids.is_some() { -1 } else { 1 });
        let resort = self.app.rides.catalog().resort_name(on.resort);
        let mut fields = vec![
            on.season.to_string(),
            on.resort.to_string(),
            harmless(resort).into_owned(),
            on.day.to_string(),
            ride.skier.to_string(),
            ride.minute.to_string(),
            ride.lift.to_string(),
            sign.to_string(),
            (sign * i64::from(ride.vertical)).to_string(),
            at.to_string(),
        ];
        if let Some(own) = self.gate {
            let is_own = *gate == own;
            let name = |id: &RideEventId| harmless(&id.to_string()).into_owned();
            fields.push(if is_own { name(id) } else { String::new() });
            fields.push(voids.as_ref().filter(|_| is_own).map(name).unwrap_or_default());
        }
        csv.write_record(fields)
    }
}

/// Prefixes text from other parties with an apostrophe if a spreadsheet would run it as a formula.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn finished(csv: csv::Writer<Vec<u8>>) -> Result<Bytes> {
    csv.into_inner().map(Bytes::from).map_err(|error| Error::internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spreadsheet_runs_no_formula_of_another_party() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        for text in ["", "scan 1", "a=1", "1-2"] {
            assert_eq!(harmless(text), text);
        }
    }
}
