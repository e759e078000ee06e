//! A page as one self-contained file: no script, no request to anyone.

use anyhow::Result;
use askama::Template;

use super::page::{Page, Section};
use super::plot::Plot;

/// The page as HTML.
pub(super) fn render(page: &Page) -> Result<String> {
    Ok(Html { page }.render()?)
}

#[derive(Template)]
#[template(path = "report.html")]
struct Html<'a> {
    page: &'a Page,
}
