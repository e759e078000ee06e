//! What the app's handlers work with.

use std::sync::Arc;

use lodge_domain::{
    Attempt, Error, Result,
    links::{Caller, Edit, Links, Short},
};

use crate::{
    context::{App, SiteContext},
    edge::{
        address::Client,
        limits::{self, AddressLimit},
    },
    settings::SiteSettings,
};

/// The service, and the site that it is served on.
pub(crate) type LinksApp = App<Parts>;

/// What there is one of.
pub(crate) struct Parts {
    pub(crate) links: Arc<Links>,
    /// Links that an address may create.
    creations: Option<AddressLimit>,
}

impl LinksApp {
    /// The app on a site.
    pub(crate) fn new(site: Arc<SiteContext>, links: Arc<Links>, settings: &SiteSettings) -> Self {
        let creations = AddressLimit::per_minute(settings.creations_per_minute);
        Self::on(site, Parts { links, creations })
    }

    /// Takes `count` links to create from the client's share. A caller who has a key is known, and can
    /// lose it; a repetition of what was done costs nothing.
    pub(super) async fn admit_creations(
        &self,
        client: Client,
        caller: &Caller,
        count: u32,
        attempt: Option<&Attempt>,
    ) -> Result<()> {
        match (&self.creations, caller) {
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

/// A path segment as a short; one that could never be a short is one that is not there.
pub(crate) fn short_of(segment: &str) -> Result<Short, Error> {
    Short::parse(segment).map_err(|_| Error::not_found("there is no such link"))
}
