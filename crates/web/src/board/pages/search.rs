//! The search page.

use askama::Template;
use axum::extract::State;
use lodge_domain::board::Slug;
use serde::Deserialize;

use super::{
    message::MessageItem,
    signed_in::{require_sign_in, signed_in_actor},
};
use crate::{
    board::app::{BoardApp, slug},
    error::HttpResult,
    pages::{self, errors::FormErrors, forms, words},
    request::{PathParam, QueryParams, RequestContext},
};

/// The most results on the page.
const FOUND_MAX: usize = 30;

#[derive(Template)]
#[template(path = "board/search.html")]
pub(super) struct SearchPage<'a> {
    pub(super) slug: &'a Slug,
    pub(super) typed: &'a str,
    pub(super) everywhere: bool,
    /// `None` before a search.
    pub(super) found: Option<&'a [MessageItem<'a>]>,
    pub(super) errors: &'a FormErrors,
}

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SearchPageQuery {
    q: String,
    all: String,
}

/// `GET /board/{channel}/search`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    QueryParams(SearchPageQuery { q, all }): QueryParams<SearchPageQuery>,
    asked: RequestContext,
) -> HttpResult {
    let slug = slug(&segment)?;
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        let asked_for = |text| words::escaped(&format!("?q={}", words::escaped(text)));
        let query = forms::non_empty(&q).map(asked_for).unwrap_or_default();
        return require_sign_in(&asked, &format!("/board/{slug}/search{query}"));
    };
    let everywhere = !all.is_empty();
    let (mut found, mut errors) = (None, FormErrors::default());
    if let Some(text) = forms::non_empty(&q) {
        let within = (!everywhere).then(|| slug.clone());
        match app.searches.search(&me, within, text, FOUND_MAX).await {
            Ok(messages) => found = Some(messages),
            Err(error) => errors = FormErrors::of_refusal(error, "q")?,
        }
    }
    let items: Option<Vec<_>> = found.as_ref().map(|messages| {
        messages.iter().map(|message| MessageItem::to(&me.profile, message).closed(true)).collect()
    });
    let found = items.as_deref();
    let page = SearchPage { slug: &slug, typed: &q, everywhere, found, errors: &errors };
    pages::form_page(&app.site, &errors, &page)
}
