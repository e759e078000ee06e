//! Lift rides over HTTP: the course's published API, batches, and queries over many rides.

mod api;
mod app;
mod batch;
mod compression;
mod course;
mod dto;
mod export;
mod lines;
mod live;
mod number;
mod openapi;
mod pages;
pub(crate) mod passes;
mod query;
#[cfg(test)]
mod samples;
mod search;

use http::Method;
use lodge_domain::accounts::Role;
use utoipa_axum::routes;

pub(crate) use self::{
    app::RidesApp,
    pages::{admin, face, start},
};
use crate::{
    admin::sections::{Entry, Section},
    pages::Menu,
    routes::Routes,
};

/// The app's entries in the menu.
pub(crate) const MENU: Menu = Menu { app: "rides", entries: &[("/rides", "Rides")] };

/// The app's pages on the overview for staff.
pub(crate) const ADMIN: Section = Section {
    title: "Rides",
    entries: &[Entry {
        path: "/admin/gates",
        title: "Gates",
        about: "Keys with which gates send rides.",
        least: Role::Admin,
    }],
};

/// The app's routes.
pub(crate) fn routes() -> Routes<RidesApp> {
    let tagged = |routes: Routes<RidesApp>, (name, about)| routes.tag(openapi::APP, name, about);
    openapi::TAGS
        .into_iter()
        .fold(Routes::default(), tagged)
        .schema::<dto::MessageJson>()
        .schema::<dto::DimensionJson>()
        .schema::<dto::EventJson>()
        .schema::<dto::LineJson<'_>>()
        .api(routes!(course::ride))
        .api(routes!(course::skier_day))
        .api(routes!(course::resort_day))
        .on(
            Method::GET,
            "/resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers",
            course::resort_day,
        )
        .api(routes!(course::vertical))
        .api(routes!(course::resorts))
        .api(routes!(course::seasons))
        .api(routes!(course::add_season))
        .api(routes!(batch::record))
        .api(routes!(api::ledger))
        .api(routes!(api::resorts))
        .api(routes!(api::leaderboard))
        .api(routes!(api::lifts))
        .api(routes!(api::hours))
        .api(routes!(search::search))
        .api(routes!(export::season_csv))
        .api(routes!(api::live))
        .merge(pages::routes())
        .describe(openapi::failures)
        .describe(openapi::lines)
}

/// Whether a path belongs to the rides API, also if no route exists at it.
pub(crate) fn owns(path: &str) -> bool {
    ["/skiers", "/resorts", "/api/rides"].into_iter().any(|start| {
        let rest = path.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether a path belongs to the pages of rides, also if there is no page at it.
pub(crate) fn owns_page(path: &str) -> bool {
    path.strip_prefix("/rides").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_on_a_path_that_the_app_owns() {
        for (_, path) in routes().described().1 {
            assert_ne!(owns(&path), path.starts_with("/rides"), "a page is not part of the API");
        }
        for path in ["/", "/skiers2", "/api/ridesx", "/api/links", "/rides", "/resort"] {
            assert!(!owns(path), "{path}");
        }
    }
}
