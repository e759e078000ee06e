//! The app's pages. Handlers read the request, call the service, and fill a template.

mod all_resorts;
mod bars;
mod gates;
mod leaderboard;
mod leaders;
mod names;
mod resort;
mod skier;

#[cfg(test)]
mod samples;

use http::Method;

pub(crate) use self::leaders::face;
use super::app::RidesApp;
use crate::routes::Routes;

pub(super) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .on(Method::GET, "/rides", all_resorts::show)
        .on(Method::GET, "/rides/resorts/{resort}", resort::show)
        .on(Method::GET, "/rides/leaderboard", leaderboard::show)
        .on(Method::GET, "/rides/skiers", skier::find)
        .on(Method::GET, "/rides/skiers/{skier}", skier::show)
}

/// The start page if no other app has one: the overview of all resorts.
pub(crate) fn start() -> Routes<RidesApp> {
    Routes::default().on(Method::GET, "/", all_resorts::show)
}

/// The page of gates, on sites with accounts.
pub(crate) fn admin() -> Routes<RidesApp> {
    Routes::default().on(Method::GET, "/admin/gates", gates::show).on(
        Method::POST,
        "/admin/gates",
        gates::change,
    )
}
