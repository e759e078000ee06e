//! Passes: claim a skier's number, hide it, name it on leaderboards, release it. Served only if the accounts app is enabled.

mod api;
mod export;
mod page;
#[cfg(test)]
mod samples;

use http::Method;
use utoipa_axum::routes;

pub(crate) use self::export::LeaderProfileData;
use super::{app::RidesApp, openapi::APP};
use crate::routes::Routes;

/// The routes of passes.
pub(crate) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .tag(APP, "passes", "Skier numbers claimed with the code on the pass.")
        .api(routes!(api::list))
        .api(routes!(api::edit_all))
        .api(routes!(api::claim))
        .api(routes!(api::edit))
        .api(routes!(api::release))
        .on(Method::GET, "/rides/passes", page::show)
        .on(Method::POST, "/rides/passes", page::claim)
        .on(Method::POST, "/rides/passes/profile", page::set_profile)
        .on(Method::POST, "/rides/passes/{skierID}", page::change)
}
