//! The rendering that all pages share, and the pages that belong to no app.

pub(crate) mod assets;
pub(crate) mod chart;
#[cfg(test)]
pub(crate) mod check;
pub(crate) mod errors;
pub(crate) mod forms;
mod navigation;
mod problem;
pub(crate) mod words;

use askama::Template;
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use lodge_domain::Error;

use self::errors::FormErrors;
pub(crate) use self::{
    assets::url as asset_url,
    navigation::{Menu, Navigation, rendered},
    problem::{Subject, problem},
};
use crate::{
    context::SiteContext,
    error::{self, HttpResult},
};

/// Renders a template with a status.
pub(crate) fn page(site: &SiteContext, status: StatusCode, template: &impl Template) -> HttpResult {
    let html = rendered(template, site.navigation)?;
    Ok((status, Html(html)).into_response())
}

/// Renders the page of a form, with the status of its errors, if any.
pub(crate) fn form_page(
    site: &SiteContext,
    errors: &FormErrors,
    template: &impl Template,
) -> HttpResult {
    let mut response = page(site, errors.status(), template)?;
    error::say_when(errors.retry_after(), response.headers_mut());
    Ok(response)
}

/// Redirects with 303 See Other, after a form.
pub(crate) fn redirect_to(path: &str) -> HttpResult {
    let location = HeaderValue::try_from(path).map_err(Error::internal)?;
    let mut response = Response::default();
    *response.status_mut() = StatusCode::SEE_OTHER;
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}
