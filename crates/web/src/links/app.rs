//! What the app's handlers work with.

use std::sync::Arc;

use axum::extract::FromRef;
use lodge_domain::{
    Attempt, Error, Result,
    links::{Caller, Edit, Links},
};

use crate::{
    Site,
    edge::{address::Client, limits},
};

/// The service, and the site that it is served on.
#[derive(Clone)]
pub(crate) struct LinksApp {
    pub(crate) site: Arc<Site>,
    pub(crate) links: Arc<Links>,
}

impl FromRef<LinksApp> for Arc<Site> {
    fn from_ref(app: &LinksApp) -> Self {
        Self::clone(&app.site)
    }
}

impl LinksApp {
    /// Takes `count` links to create from the client's share. A caller who has a key is known, and can
    /// lose it; a repetition of what was done costs nothing.
    pub(super) async fn admit_creations(
        &self,
        client: Client,
        caller: &Caller,
        count: u32,
        attempt: Option<&Attempt>,
    ) -> Result<()> {
        match (&self.site.creations, caller) {
            (None, _) | (_, Caller::Owner(_)) => Ok(()),
            (Some(_), _) if self.links.knows(attempt).await? => Ok(()),
            (Some(limit), _) => limit.take_many(client, count, |most| {
                let reason = format!("may be at most {most} at once without an API key");
                Error::invalid("links", reason)
            }),
        }
    }

    /// Takes an edit from the client's share of passwords, if it brings one: that costs a hash.
    pub(super) fn admit_edit(&self, client: Client, caller: &Caller, edit: &Edit) -> Result<()> {
        let costs_a_hash = matches!(edit.password, Some(Some(_)));
        if costs_a_hash && !matches!(caller, Caller::Owner(_)) {
            limits::take(self.site.attempts.as_ref(), client)?;
        }
        Ok(())
    }
}
