//! Passes: claiming a skier's number, hiding it, and giving it back. There only where accounts are.

mod api;
mod kept;
mod openapi;
mod page;
#[cfg(test)]
mod samples;

use http::Method;

pub(crate) use self::{kept::kept, openapi::document};
use super::app::RidesApp;
use crate::routes::Routes;

/// Their routes.
pub(crate) fn routes() -> Routes<RidesApp> {
    Routes::default()
        .on(Method::GET, "/api/me/passes", api::list)
        .on(Method::PUT, "/api/me/passes/{skierID}", api::claim)
        .on(Method::PATCH, "/api/me/passes/{skierID}", api::edit)
        .on(Method::DELETE, "/api/me/passes/{skierID}", api::release)
        .on(Method::GET, "/rides/passes", page::show)
        .on(Method::POST, "/rides/passes", page::claim)
        .on(Method::POST, "/rides/passes/{skierID}", page::change)
}
