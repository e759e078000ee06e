//! The rendering that all pages share, and the pages that belong to no app.

pub(crate) mod assets;
pub(crate) mod chart;
#[cfg(test)]
pub(crate) mod check;
pub(crate) mod errors;
pub(crate) mod forms;
mod header;
mod navigation;
mod problem;
pub(crate) mod words;

use askama::Template;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header::LOCATION};
use lodge_domain::{Error, Result};

use self::errors::FormErrors;
pub(crate) use self::{
    assets::url as asset_url,
    header::{Page, Visit},
    navigation::{Menu, Navigation},
    problem::{Subject, problem},
};
use crate::{
    context::SiteContext,
    error::{self, HttpResult},
};

/// Renders the template of a page, without its header.
pub(crate) fn rendered(template: &impl Template, navigation: &Navigation) -> Result<String> {
    template.render_with_values(navigation).map_err(Error::internal)
}

/// Renders a template with a status.
pub(crate) fn page(site: &SiteContext, status: StatusCode, template: &impl Template) -> HttpResult {
    let html = rendered(template, &site.navigation)?;
    Ok((status, Page::new(&html)).into_response())
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
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
