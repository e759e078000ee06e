//! The links service and its ports.

use std::{net::IpAddr, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Blocklist, Caller, ClickBatch, ClickCounter, ClickReport, ClickStore, Grouping, Link,
    LinkQuery, LinkState, LinkStore, ManageKeys, Origin, Short, StoredLinkOutcome, TakenClick,
    Target, Visit,
};
use crate::{
    Clock, Error, IdempotencyKey, Random, Result,
    failures::{Counted, Failures},
    names::names,
    password_hasher::{PasswordHasher, PasswordOf},
    passwords::Password,
    random::TimeOrderedIds,
    security::{self, SecurityEventKind},
};

/// What happens to a short that is put twice; a setting of the whole deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The first link keeps the short.
    #[default]
    Claim,
    /// The newest `PUT` replaces the link; shorts have no owners.
    Replace,
}

names!(Mode { Claim = "claim", Replace = "replace" });

impl Mode {
    /// Checks the mode that a store was created with against the configured one, `wanted`.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if they differ: any caller could take over links that have owners, or become the owner
    /// of links that were shared.
    pub fn check_kept(wanted: Self, kept: &[u8]) -> Result<()> {
        if kept == wanted.name().as_bytes() { Ok(()) } else { Err(OTHER_MODE) }
    }
}

const OTHER_MODE: Error = Error::conflict(
    "links.mode differs from the mode that this store was created with, which cannot change; \
     start with an empty store and import an export of this one",
);

/// The settings of the links app.
#[derive(Debug, Clone)]
pub struct LinksSettings {
    /// The mode.
    pub mode: Mode,
    /// How long a short stays reserved after its link is over.
    pub reserved: SignedDuration,
    /// Whether links can be created without an API key.
    pub anonymous_creation: bool,
    /// The origins of this deployment, in addition to a request's `Host`.
    pub origins: Vec<Origin>,
}

/// The result of following a link.
#[derive(Debug, Clone)]
pub enum Follow {
    /// Redirect; the click is counted.
    To(Arc<Link>),
    /// The link requires a password.
    Password(Arc<Link>),
}

/// A link, as far as the caller may see it.
#[derive(Debug, Clone)]
pub enum View {
    /// All fields, for a caller who may manage it; the link may be over.
    Managed(Arc<Link>),
    /// The public fields of a live link.
    Public(Arc<Link>),
}

/// The links service.
pub struct Links {
    pub(super) ports: LinksPorts,
    pub(super) ids: TimeOrderedIds,
}

/// The ports and settings of the service.
pub struct LinksPorts {
    /// The link store.
    pub store: Arc<dyn LinkStore>,
    /// The click store.
    pub click_store: Arc<dyn ClickStore>,
    /// The click counter.
    pub counter: Arc<ClickCounter>,
    /// The hasher of links' passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// Counters of wrong passwords.
    pub failures: Arc<dyn Failures>,
    /// The blocked target hosts.
    pub blocklist: Arc<Blocklist>,
    /// The manage keys.
    pub manage_keys: ManageKeys,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of random ids and shorts.
    pub random: Arc<dyn Random>,
    /// The settings.
    pub settings: LinksSettings,
}

impl Links {
    /// Creates the service.
    pub fn new(ports: LinksPorts) -> Self {
        Self { ports, ids: TimeOrderedIds::default() }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &LinksSettings {
        &self.ports.settings
    }

    /// Returns the blocklist.
    pub fn blocklist(&self) -> &Arc<Blocklist> {
        &self.ports.blocklist
    }

    /// Returns the click counter.
    pub fn counter(&self) -> &ClickCounter {
        &self.ports.counter
    }

    /// Stores a batch of counted clicks.
    pub async fn store_clicks(&self, batch: Arc<ClickBatch>) -> Result<()> {
        self.ports.click_store.add(batch).await
    }

    /// Returns the clicks on each of `links`.
    pub async fn totals(&self, links: &[Arc<Link>]) -> Result<Vec<u64>> {
        self.ports.click_store.totals(links.iter().map(|link| link.id).collect()).await
    }

    /// Follows a link if this process's memory suffices; if `None`, [`Self::follow`] decides.
    pub fn follow_at_once(&self, short: &str, visit: &Visit<'_>) -> Option<Arc<Link>> {
        let link = self.ports.store.find_cached(short)?;
        let now = self.ports.clock.now();
        if !link.is_plain()
            || link.state(now).0 != LinkState::Live
            || self.ports.blocklist.blocks(&link.target)
        {
            return None;
        }
        self.ports.counter.count(link.id, visit, now);
        Some(link)
    }

    /// Follows a link; a click of a limited link is committed before the response.
    pub async fn follow(&self, short: &Short, visit: &Visit<'_>) -> Result<Follow> {
        let link = self.live(short).await?;
        if link.password.is_some() {
            return Ok(Follow::Password(link));
        }
        self.click(link, visit).await.map(Follow::To)
    }

    /// Follows a link that requires a password, for a visitor at the address `from`. Wrong passwords are limited as
    /// those of an account are (see [`crate::failures`]).
    pub async fn follow_with_password(
        &self,
        short: &Short,
        password: Password,
        visit: &Visit<'_>,
        from: Option<IpAddr>,
    ) -> Result<Arc<Link>> {
        let link = self.live(short).await?;
        if let Some(hash) = &link.password {
            let now = self.ports.clock.now();
            let counted = Counted::one(&*self.ports.failures, short.as_str(), from, now).await;
            if matches!(counted, Err(Error::TooMany { .. })) {
                security::record(SecurityEventKind::LockedOut, None, format!("link {short}"));
            }
            let (counted, of) = (counted?, PasswordOf::Visitor(from));
            let is_right = self.ports.passwords.verify(of, password, hash.clone()).await;
            counted.settle(&is_right).await;
            if !is_right? {
                return Err(Error::forbidden("wrong password for this link"));
            }
        }
        self.click(link, visit).await
    }

    /// Returns the link if it is live, without counting a click.
    pub async fn live(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.kept(short).await?;
        match link.state(self.ports.clock.now()).0 {
            LinkState::Live if self.ports.blocklist.blocks(&link.target) => {
                Err(Error::gone("the target of this link is on a blocked host"))
            }
            LinkState::Live => Ok(link),
            LinkState::Expired => Err(Error::gone("this link has expired")),
            LinkState::Exhausted => Err(EXHAUSTED),
            LinkState::Deleted => Err(Error::gone("this link was deleted")),
        }
    }

    /// Returns the link as far as the caller may see it. A wrong manage key is an error.
    pub async fn view(&self, short: &Short, caller: &Caller) -> Result<View> {
        match self.managed(short, caller).await {
            Ok(link) => Ok(View::Managed(link)),
            Err(Error::Unauthenticated(_) | Error::Forbidden(_))
                if !matches!(caller, Caller::ManageKey(_)) =>
            {
                self.live(short).await.map(View::Public)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the manage key of `link`; `None` if it has an owner, and in replace mode.
    pub fn manage_key(&self, link: &Link) -> Option<String> {
        let has_keys = self.ports.settings.mode == Mode::Claim;
        has_keys.then(|| self.ports.manage_keys.key(link)).flatten()
    }

    /// Returns the link to a caller who may manage it; it may be over, but not deleted.
    pub async fn managed(&self, short: &Short, caller: &Caller) -> Result<Arc<Link>> {
        let link = self.kept(short).await?;
        if link.deleted_at.is_some() {
            return Err(Error::gone("this link was deleted"));
        }
        if self.manages(caller, &link) {
            return Ok(link);
        }
        Err(match caller {
            Caller::Anonymous => Error::unauthenticated(
                "this needs the link's manage key, or its owner's API key or session",
            ),
            Caller::ManageKey(_) if link.owner.is_some() => Error::forbidden(
                "this link has an owner and no manage key; use its owner's API key or session",
            ),
            Caller::ManageKey(_) => Error::forbidden("this is not the manage key of this link"),
            Caller::Owner(_) => {
                Error::forbidden("this key or session does not give access to this link")
            }
        })
    }

    /// In replace mode manage keys are void, because any caller may replace a link.
    fn manages(&self, caller: &Caller, link: &Link) -> bool {
        match caller {
            Caller::ManageKey(_) if self.ports.settings.mode == Mode::Replace => false,
            _ => self.ports.manage_keys.allows(caller, link),
        }
    }

    /// Returns an owner's links, newest first.
    pub async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.ports.store.list(query).await
    }

    /// Returns the clicks on a link to a caller who may manage it.
    pub async fn report(
        &self,
        short: &Short,
        caller: &Caller,
        by: Grouping,
        since: Timestamp,
    ) -> Result<ClickReport> {
        let link = self.managed(short, caller).await?;
        self.ports.click_store.report(link.id, by, since).await
    }

    pub(super) async fn stored_outcome(
        &self,
        idempotency: Option<&IdempotencyKey>,
    ) -> Result<Option<StoredLinkOutcome>> {
        match idempotency {
            Some(idempotency) => self.ports.store.stored_outcome(idempotency).await,
            None => Ok(None),
        }
    }

    async fn kept(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.ports.store.find(short).await?;
        link.filter(|link| {
            !link.is_reservation_over(self.ports.clock.now(), self.ports.settings.reserved)
        })
        .ok_or(UNKNOWN)
    }

    async fn click(&self, link: Arc<Link>, visit: &Visit<'_>) -> Result<Arc<Link>> {
        let now = self.ports.clock.now();
        if link.click_limit.is_some()
            && self.ports.store.take_click(&link.short, link.id, now).await? == TakenClick::No
        {
            return Err(EXHAUSTED);
        }
        self.ports.counter.count(link.id, visit, now);
        Ok(link)
    }

    pub(super) fn check_target(&self, target: &Target, here: &[Origin]) -> Result<()> {
        if target.loops_to(&self.ports.settings.origins) || target.loops_to(here) {
            return Err(Error::invalid("target", "leads back to a short link of this server"));
        }
        if self.ports.blocklist.blocks(target) {
            return Err(Error::invalid("target", "is on a blocked host"));
        }
        Ok(())
    }

    pub(super) fn check_expiry(&self, expires_at: Option<Timestamp>) -> Result<()> {
        if expires_at.is_some_and(|at| at <= self.ports.clock.now()) {
            return Err(Error::invalid("expires_at", "must be in the future"));
        }
        Ok(())
    }
}

const UNKNOWN: Error = Error::not_found("there is no such link");
const EXHAUSTED: Error = Error::gone("this link has reached its click limit");
