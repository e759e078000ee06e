//! The page that shows a new key or secret, once.

use askama::Template;
use http::StatusCode;
use lodge_domain::secret::SecretText;

use crate::{context::SiteContext, error::HttpResult, pages};

/// A new key or secret. No response may be cached by default, so no later page shows it.
#[derive(Template)]
#[template(path = "admin/secret.html")]
pub(crate) struct SecretPage<'a> {
    /// What the key or secret belongs to.
    pub(crate) title: &'a str,
    /// How it is used.
    pub(crate) usage: &'a str,
    pub(crate) secret: &'a SecretText,
    /// Path and title of the page to go back to.
    pub(crate) back: (&'static str, &'static str),
}

impl SecretPage<'_> {
    /// Renders the page.
    pub(crate) fn shown(&self, site: &SiteContext) -> HttpResult {
        pages::page(site, StatusCode::OK, self)
    }
}
