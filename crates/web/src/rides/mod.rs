//! Lift rides over HTTP: the course's published API, batches, and what is asked of many rides.

mod api;
mod app;
mod batch;
mod course;
mod dto;
mod export;
mod json;
mod lines;
mod live;
mod number;
mod openapi;
mod packing;
mod pages;
pub(crate) mod passes;
mod query;
#[cfg(test)]
mod samples;
mod search;

use http::Method;

pub(crate) use self::{app::RidesApp, openapi::document};
use crate::routes::Routes;

/// The app's routes.
pub(crate) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .on(
            Method::POST,
            "/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}",
            course::ride,
        )
        .on(
            Method::GET,
            "/skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}",
            course::skier_day,
        )
        .on(
            Method::GET,
            "/resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers",
            course::resort_day,
        )
        .on(
            Method::GET,
            "/resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers",
            course::resort_day,
        )
        .on(Method::GET, "/skiers/{skierID}/vertical", course::vertical)
        .on(Method::GET, "/resorts", course::resorts)
        .on(Method::GET, "/resorts/{resortID}/seasons", course::seasons)
        .on(Method::POST, "/resorts/{resortID}/seasons", course::add_season)
        .on(Method::POST, "/api/rides", batch::record)
        .on(Method::GET, "/api/rides/ledger", api::ledger)
        .on(Method::GET, "/api/rides/resorts", api::resorts)
        .on(Method::GET, "/api/rides/leaderboard", api::leaderboard)
        .on(Method::GET, "/api/rides/lifts", api::lifts)
        .on(Method::GET, "/api/rides/hours", api::hours)
        .on(Method::GET, "/api/rides/search", search::search)
        .on(Method::GET, "/api/rides/export.csv", export::season_csv)
        .on(Method::GET, "/api/rides/live", api::live)
        .merge(pages::routes())
}

/// The start page, where no other app has one.
pub(crate) fn start() -> Routes<RidesApp> {
    pages::start()
}

/// Whether a path belongs to the API of these routes, whatever is or is not there.
pub(crate) fn owns(path: &str) -> bool {
    ["/skiers", "/resorts", "/api/rides"].into_iter().any(|start| {
        let rest = path.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_on_a_path_that_is_the_apps_own() {
        for (_, path) in routes().list() {
            assert_ne!(owns(path), path.starts_with("/rides"), "a page is no part of the API");
        }
        for path in ["/", "/skiers2", "/api/ridesx", "/api/links", "/rides", "/resort"] {
            assert!(!owns(path), "{path}");
        }
    }
}
