//! An account's links, in the export of its data.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use jiff::Timestamp;
use lodge_domain::{
    Clock, Error, Result,
    accounts::AccountId,
    links::{Link, LinkQuery, Links, Owner},
};
use serde_json::Value;

use super::dto::LinkJson;
use crate::personal_data::PersonalData;

/// Links per page.
const PAGE: usize = 1_000;

/// The links of accounts.
pub(crate) struct LinksData {
    pub(crate) links: Arc<Links>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl PersonalData for LinksData {
    fn name(&self) -> &'static str {
        "links"
    }

    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
        let (links, clock) = (Arc::clone(&self.links), Arc::clone(&self.clock));
        let first = LinkQuery {
            owner: Owner::Account(account),
            after: None,
            tag: None,
            prefix: None,
            search: None,
            limit: PAGE,
        };
        let pages = stream::try_unfold(first, move |query| {
            let (links, clock) = (Arc::clone(&links), Arc::clone(&clock));
            async move {
                let page = links.list(query.clone()).await?;
                let Some(last) = page.last() else { return Ok(None) };
                let next = LinkQuery { after: Some(last.id), ..query };
                let values = page.iter().map(|link| exported(link, clock.now()));
                let values = values.collect::<Result<_, _>>().map_err(Error::internal)?;
                Ok(Some((values, next)))
            }
        });
        pages.boxed()
    }
}

/// Formats a link for the export, which belongs to no site: it has the short name, and no URL.
fn exported(link: &Link, now: Timestamp) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(LinkJson::managed(link, "", now, None))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("short_url");
    }
    Ok(value)
}
