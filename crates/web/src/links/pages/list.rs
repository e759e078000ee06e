//! The list of the caller's own links.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    links::{Link, LinkId, LinkQuery, LinkState, Owner, Short},
};
use serde::{Deserialize, Serialize};

use super::access::ShortUrl;
use crate::{
    error::HttpResult,
    links::app::LinksApp,
    pages::{self, redirect_to},
    request::{QueryParams, RequestContext},
    session::{self, PageCaller},
};

/// Links on a page.
const PAGE: usize = 20;

/// The most tags shown per link.
const TAGS_SHOWN: usize = 4;

#[derive(Template)]
#[template(path = "links/list.html")]
pub(super) struct ListPage<'a> {
    pub(super) whose: &'a PageCaller,
    pub(super) rows: &'a [Row],
    pub(super) filter: &'a Filter,
    /// Whether this is not the first page.
    pub(super) paged: bool,
    /// The path of the next page.
    pub(super) older: Option<String>,
    /// Why the store refuses to search for the text.
    pub(super) refused: Option<String>,
}

/// A row of the list.
pub(super) struct Row {
    pub(super) url: ShortUrl,
    pub(super) link: Arc<Link>,
    pub(super) state: LinkState,
    pub(super) clicks: u64,
}

impl Row {
    /// Returns the shown tags, and the number of further ones.
    pub(super) fn tags(&self) -> (&[String], usize) {
        let tags = self.link.tags.as_slice();
        let shown = &tags[..tags.len().min(TAGS_SHOWN)];
        (shown, tags.len() - shown.len())
    }
}

/// The filter and the position of the list; an empty field does not filter.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Filter {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) search: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<LinkId>,
}

impl Filter {
    /// Whether the list is unfiltered.
    pub(super) fn is_empty(&self) -> bool {
        self.search.is_empty() && self.tag.is_empty()
    }

    /// The path of the first page, with this tag and the same search.
    pub(super) fn with_tag(&self, tag: &str) -> String {
        Self { search: self.search.clone(), tag: tag.to_owned(), after: None }.path()
    }

    /// The path of the first page, with the same tag and no search.
    pub(super) fn without_search(&self) -> String {
        Self { tag: self.tag.clone(), ..Self::default() }.path()
    }

    fn path(&self) -> String {
        match serde_urlencoded::to_string(self) {
            Ok(query) if !query.is_empty() => format!("/links?{query}"),
            _ => "/links".to_owned(),
        }
    }

    fn query(&self, owner: Owner) -> LinkQuery {
        let given = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        // One more than the page shows, to know whether there are older ones.
        LinkQuery {
            owner,
            after: self.after,
            tag: given(&self.tag),
            prefix: None,
            search: given(&self.search),
            limit: PAGE + 1,
        }
    }
}

/// Lists links. A store without search finds those whose short begins with the text.
async fn found(app: &LinksApp, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
    let text = query.search.clone().filter(|text| Short::parse(text).is_ok());
    match app.list(query.clone()).await {
        Err(Error::Invalid { field, .. }) if field == "search" && text.is_some() => {
            app.list(LinkQuery { prefix: text, search: None, ..query }).await
        }
        found => found,
    }
}

/// `GET /links`.
pub(super) async fn list(
    State(app): State<LinksApp>,
    QueryParams(filter): QueryParams<Filter>,
    asked: RequestContext,
) -> HttpResult {
    let Some(whose) = session::page_caller(&app.site, &asked).await? else {
        return redirect_to("/login?next=/links");
    };
    let (mut links, refused) = match found(&app, filter.query(whose.owner())).await {
        Err(Error::Invalid { field, reason }) if field == "search" => {
            (Vec::new(), Some(format!("The search {reason}.")))
        }
        found => (found?, None),
    };
    let more = links.len() > PAGE;
    links.truncate(PAGE);
    let totals = app.links.totals(&links).await?;
    let paged = filter.after.is_some();
    let last = links.last().filter(|_| more).map(|link| link.id);
    let row = |(link, clicks): (Arc<Link>, u64)| Row {
        url: ShortUrl::of(&asked.base_url, &link.short),
        state: link.state(asked.at).0,
        link,
        clicks,
    };
    let rows: Vec<Row> = links.into_iter().zip(totals).map(row).collect();
    let filter = Filter { after: last, ..filter };
    let older = last.map(|_| filter.path());
    let status = if refused.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let page = ListPage { whose: &whose, rows: &rows, filter: &filter, paged, older, refused };
    pages::page(&app.site, status, &page)
}
