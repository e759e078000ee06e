//! The list of security events, for administrators.

use std::borrow::Borrow;

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{NamedSecurityEvent, SecurityEventFilter, Username},
    security::SecurityEventKind,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::me::AdminOnly;
use crate::{
    accounts::app::AccountsApp,
    error::HttpResult,
    pages::{self, forms::non_empty, words},
    request::QueryParams,
};

/// Events per page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "accounts/admin_events.html")]
pub(super) struct AdminEventsPage<'a> {
    pub(super) events: &'a [NamedSecurityEvent],
    pub(super) filter: &'a Filter,
    /// Whether this is not the first page.
    pub(super) paged: bool,
    /// The query of the next page.
    pub(super) next: Option<String>,
}

/// The filter; empty fields match all events.
#[derive(Debug, Default, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Filter {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) account: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) origin: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) before: String,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.kind.is_empty() && self.account.is_empty() && self.origin.is_empty()
    }

    fn parse(&self) -> Result<SecurityEventFilter, Error> {
        let kind = non_empty(&self.kind).map(|name| {
            SecurityEventKind::named(name)
                .ok_or_else(|| Error::invalid("kind", "must be a kind of event"))
        });
        let before = non_empty(&self.before).map(|text| {
            Uuid::parse_str(text).map_err(|_| Error::invalid("before", "must be an event's id"))
        });
        Ok(SecurityEventFilter {
            kind: kind.transpose()?,
            account: non_empty(&self.account).map(Username::parse).transpose()?,
            origin: non_empty(&self.origin).map(str::to_owned),
            before: before.transpose()?,
            since: None,
            // One more than shown, to detect a next page.
            limit: PAGE + 1,
        })
    }
}

/// Returns the path of the events from one origin.
fn path_of(origin: &str) -> String {
    let filter = Filter { origin: origin.to_owned(), ..Filter::default() };
    let query = serde_urlencoded::to_string(filter).unwrap_or_default();
    format!("/admin/events?{query}")
}

/// Returns the name of a kind as a title: "Sign in failed".
fn title(kind: impl Borrow<SecurityEventKind>) -> String {
    words::sentence(&kind.borrow().name().replace('_', " ")).trim_end_matches('.').to_owned()
}

/// `GET /admin/events`.
pub(super) async fn list(
    State(app): State<AccountsApp>,
    QueryParams(filter): QueryParams<Filter>,
    AdminOnly(me): AdminOnly,
) -> HttpResult {
    let mut events = app.accounts.security_events(me.session, filter.parse()?).await?;
    let more = events.len() > PAGE;
    events.truncate(PAGE);
    let last = events.last().filter(|_| more).map(|last| last.event.id.to_string());
    let next = last
        .map(|before| serde_urlencoded::to_string(Filter { before, ..filter.clone() }))
        .transpose()
        .map_err(Error::internal)?;
    let paged = !filter.before.is_empty();
    let page = AdminEventsPage { events: &events, filter: &filter, paged, next };
    pages::page(&app.site, StatusCode::OK, &page)
}
