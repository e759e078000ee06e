//! Passes: claiming a skier's number, hiding it, and giving it back. There only where accounts are.

mod api;
mod kept;
mod page;
#[cfg(test)]
mod samples;

use http::Method;
use utoipa_axum::routes;

use super::app::RidesApp;
use crate::routes::Routes;

/// Their routes.
pub(crate) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .tag("passes", "Skiers' numbers that are one's own, by the code on the pass.")
        .api(routes!(api::list))
        .api(routes!(api::claim))
        .api(routes!(api::edit))
        .api(routes!(api::release))
        .on(Method::GET, "/rides/passes", page::show)
        .on(Method::POST, "/rides/passes", page::claim)
        .on(Method::POST, "/rides/passes/{skierID}", page::change)
}
