//! The list of accounts, for moderators and administrators.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, AccountQuery, Username},
};
use serde::{Deserialize, Serialize};

use super::me::Staff;
use crate::{accounts::app::AccountsApp, error::HttpResult, pages, request::QueryParams};

/// Accounts per page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "accounts/admin_accounts.html")]
pub(super) struct AdminAccountsPage<'a> {
    pub(super) accounts: &'a [Account],
    pub(super) filter: &'a Filter,
    /// Whether this is not the first page.
    pub(super) paged: bool,
    /// The query of the next page.
    pub(super) next: Option<String>,
}

/// The filter; empty fields match all accounts.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Filter {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) search: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) after: String,
}

/// `GET /admin/accounts`.
pub(super) async fn list(
    State(app): State<AccountsApp>,
    QueryParams(filter): QueryParams<Filter>,
    Staff(me): Staff,
) -> HttpResult {
    let paged = !filter.after.is_empty();
    let after = paged.then(|| Username::parse(&filter.after)).transpose()?;
    // One more than shown, to detect a next page.
    let prefix = Username::prefix(&filter.search);
    let query = AccountQuery { prefix, after, limit: PAGE + 1 };
    let mut accounts = app.accounts.list(me.session, query).await?;
    let more = accounts.len() > PAGE;
    accounts.truncate(PAGE);
    let last = accounts.last().filter(|_| more).map(|account| account.username.to_string());
    let next = last
        .map(|after| serde_urlencoded::to_string(Filter { search: filter.search.clone(), after }))
        .transpose()
        .map_err(Error::internal)?;
    let page = AdminAccountsPage { accounts: &accounts, filter: &filter, paged, next };
    pages::page(&app.site, StatusCode::OK, &page)
}
