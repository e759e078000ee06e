//! The state of the handlers of short links.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use lodge_domain::{
    Error, IdempotencyKey, Result,
    links::{Caller, Link, LinkChange, LinkQuery, Links, Owner, Short},
};

use crate::{
    context::{App, SiteContext},
    edge::{
        address::Client,
        limits::{self, AddressLimit, KeyedRateLimit},
        per_key::PerKeyLimit,
    },
    settings::SiteSettings,
};

/// The most searches of one owner that run or wait.
const SEARCHES_PER_OWNER_MAX: usize = 2;

/// The `Retry-After` of a refused search.
const SEARCH_RETRY: Duration = Duration::from_secs(1);

/// The state of the handlers: the site and [`Parts`].
pub(crate) type LinksApp = App<Parts>;

/// The link service and its limits.
pub(crate) struct Parts {
    pub(crate) links: Arc<Links>,
    /// The limit of links that a client address may create per minute.
    creations: Option<AddressLimit>,
    /// The limits of links that an account or an API key may create per minute and per day.
    owner_creations: [Option<KeyedRateLimit<Owner>>; 2],
    /// The limit of searches: the store runs one at a time, and its queue stays open to other owners.
    searches: Arc<PerKeyLimit<Owner>>,
}

impl LinksApp {
    /// Creates the app.
    pub(crate) fn new(site: Arc<SiteContext>, links: Arc<Links>, settings: &SiteSettings) -> Self {
        let creations = AddressLimit::per_minute(settings.creations_per_minute);
        let owner_creations = [
            KeyedRateLimit::per_minute(settings.owner_creations_per_minute),
            KeyedRateLimit::per_day(settings.owner_creations_per_day),
        ];
        let searches = PerKeyLimit::new(SEARCHES_PER_OWNER_MAX, SEARCH_RETRY);
        Self::on(site, Parts { links, creations, owner_creations, searches })
    }

    /// Returns an owner's links, newest first; [`Error::TooMany`] past [`SEARCHES_PER_OWNER_MAX`] searches.
    pub(super) async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        let _place = query.is_search().then(|| self.searches.take(query.owner)).transpose()?;
        self.links.list(query).await
    }

    /// Counts `count` creations against the limits of the owner or, without one, of the client address. Processes on this
    /// machine are exempt. A retry of a request whose outcome is stored is counted, and never refused.
    pub(super) async fn admit_creations(
        &self,
        client: Client,
        caller: &Caller,
        count: u32,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<()> {
        let Some(count) = NonZeroU32::new(count).filter(|_| client != Client::Local) else {
            return Ok(());
        };
        match self.take_creations(client, caller.owner(), count) {
            Err(Error::TooMany { .. }) if self.links.knows(idempotency).await? => Ok(()),
            taken => taken,
        }
    }

    fn take_creations(
        &self,
        client: Client,
        owner: Option<Owner>,
        count: NonZeroU32,
    ) -> Result<()> {
        if let Some(owner) = owner {
            let too_many =
                |most| Error::invalid("links", format!("must be at most {most} per request"));
            let mut limits = self.owner_creations.iter().flatten();
            return limits.try_for_each(|limit| limit.take_some(owner, count, too_many));
        }
        self.creations.as_ref().map_or(Ok(()), |limit| {
            limit.take_many(client, count.get(), |most| {
                let reason = format!("must be at most {most} per request without an API key");
                Error::invalid("links", reason)
            })
        })
    }

    /// Counts an edit that sets a password, since it costs a hash: against the owner's limit of creations, or without
    /// an owner against the client address's limit of passwords.
    pub(super) fn admit_edit(
        &self,
        client: Client,
        caller: &Caller,
        edit: &LinkChange,
    ) -> Result<()> {
        match (&edit.password, caller.owner()) {
            (Some(Some(_)), Some(_)) if client == Client::Local => Ok(()),
            (Some(Some(_)), Some(owner)) => {
                self.take_creations(client, Some(owner), NonZeroU32::MIN)
            }
            (Some(Some(_)), None) => limits::take(self.site.credential_limit.as_ref(), client),
            _ => Ok(()),
        }
    }
}

/// Parses a path segment as a short; one that is not a valid short is [`Error::NotFound`].
pub(crate) fn short_of(segment: &str) -> Result<Short, Error> {
    Short::parse(segment).map_err(|_| Error::not_found("there is no such link"))
}
