//! What can be done with links, and under which rules.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Blocklist, Caller, ClickBatch, ClickCounter, ClickReport, ClickStore, Grouping, Link,
    LinkQuery, LinkStore, ManageKeys, Origin, Outcome, Short, State, TakenClick, Target, Visit,
};
use crate::{
    Attempt, Clock, Error, Random, Result,
    names::names,
    passwords::{Password, Passwords},
};

/// Who wins where a short is given twice; a setting of the whole deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Whoever came first keeps it.
    #[default]
    Claim,
    /// The newest `PUT` has it; shorts have no owners.
    Replace,
}

names!(Mode { Claim = "claim", Replace = "replace" });

impl Mode {
    /// What an installation says that keeps this mode, and is opened with `wanted`.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if they differ: anybody could take over links that have owners, or would own
    /// what was everybody's.
    pub fn check_kept(wanted: Self, kept: &[u8]) -> Result<()> {
        if kept == wanted.name().as_bytes() { Ok(()) } else { Err(OTHER_MODE) }
    }
}

const OTHER_MODE: Error = Error::conflict(
    "links.mode is not the one that the links here were made with, which stays; \
     start with a place of its own, and import an export there",
);

/// What a deployment decides about its links.
#[derive(Debug, Clone)]
pub struct LinksSettings {
    /// Who wins.
    pub mode: Mode,
    /// How long a short stays taken after its link is over.
    pub reserved: SignedDuration,
    /// Whether one may create without an API key.
    pub anonymous_creation: bool,
    /// The origins under which this deployment is known, beside what a request's `Host` says.
    pub origins: Vec<Origin>,
}

/// What came of following a link.
#[derive(Debug, Clone)]
pub enum Follow {
    /// Go there; the click is counted.
    To(Arc<Link>),
    /// Say the password first.
    Password(Arc<Link>),
}

/// A link, as whoever asks may see it.
#[derive(Debug, Clone)]
pub enum View {
    /// All of it, over or not.
    Managed(Arc<Link>),
    /// What anybody may see of a live one.
    Public(Arc<Link>),
}

/// The service.
pub struct Links {
    pub(super) ports: LinksPorts,
}

/// What the service is made of.
pub struct LinksPorts {
    /// Keeps the links.
    pub store: Arc<dyn LinkStore>,
    /// Keeps the clicks.
    pub click_store: Arc<dyn ClickStore>,
    /// Counts the clicks.
    pub counter: Arc<ClickCounter>,
    /// Hashes links' passwords.
    pub passwords: Arc<dyn Passwords>,
    /// Says where no link may lead.
    pub blocklist: Arc<Blocklist>,
    /// Derives manage keys.
    pub manage_keys: ManageKeys,
    /// Says what time it is.
    pub clock: Arc<dyn Clock>,
    /// Makes ids and shorts.
    pub random: Arc<dyn Random>,
    /// What the deployment decided.
    pub settings: LinksSettings,
}

impl Links {
    /// The service over these.
    pub fn new(ports: LinksPorts) -> Self {
        Self { ports }
    }

    /// What the deployment decided.
    pub fn settings(&self) -> &LinksSettings {
        &self.ports.settings
    }

    /// Says where no link may lead.
    pub fn blocklist(&self) -> &Arc<Blocklist> {
        &self.ports.blocklist
    }

    /// Counts the clicks.
    pub fn counter(&self) -> &ClickCounter {
        &self.ports.counter
    }

    /// Stores clicks that were counted.
    pub async fn store_clicks(&self, batch: Arc<ClickBatch>) -> Result<()> {
        self.ports.click_store.add(batch).await
    }

    /// How often each of these links was followed.
    pub async fn totals(&self, links: &[Arc<Link>]) -> Result<Vec<u64>> {
        self.ports.click_store.totals(links.iter().map(|link| link.id).collect()).await
    }

    /// Follows a link if that takes nothing but this process's memory; `None` says nothing about it.
    pub fn follow_at_once(&self, short: &str, visit: &Visit<'_>) -> Option<Arc<Link>> {
        let link = self.ports.store.find_cached(short)?;
        let now = self.ports.clock.now();
        if !link.is_plain()
            || link.state(now).0 != State::Live
            || self.ports.blocklist.blocks(&link.target)
        {
            return None;
        }
        self.ports.counter.count(link.id, visit, now);
        Some(link)
    }

    /// Follows a link; a click of a limited one is committed before the answer.
    pub async fn follow(&self, short: &Short, visit: &Visit<'_>) -> Result<Follow> {
        let link = self.live(short).await?;
        if link.password.is_some() {
            return Ok(Follow::Password(link));
        }
        self.click(link, visit).await.map(Follow::To)
    }

    /// Follows a link that asks for a password.
    pub async fn follow_with_password(
        &self,
        short: &Short,
        password: Password,
        visit: &Visit<'_>,
    ) -> Result<Arc<Link>> {
        let link = self.live(short).await?;
        if let Some(hash) = &link.password
            && !self.ports.passwords.verify(password, hash.clone()).await?
        {
            return Err(Error::forbidden("this is not the link's password"));
        }
        self.click(link, visit).await
    }

    /// The link, if it leads somewhere now; nothing is counted.
    pub async fn live(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.kept(short).await?;
        match link.state(self.ports.clock.now()).0 {
            State::Live if self.ports.blocklist.blocks(&link.target) => {
                Err(Error::gone("this link leads to a host that is blocked here"))
            }
            State::Live => Ok(link),
            State::Expired => Err(Error::gone("this link has expired")),
            State::Exhausted => Err(EXHAUSTED),
            State::Deleted => Err(Error::gone("this link was deleted")),
        }
    }

    /// The link, as the caller may see it. A manage key that does not fit is told so.
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

    /// The key that opens `link`, for its maker; in replace mode there is none.
    pub fn manage_key(&self, link: &Link) -> Option<String> {
        (self.ports.settings.mode == Mode::Claim).then(|| self.ports.manage_keys.key(link))
    }

    /// The link for somebody who may manage it, over or not (but not deleted).
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
            Caller::Owner(_) | Caller::ManageKey(_) => {
                Error::forbidden("this key does not open this link")
            }
        })
    }

    /// Where anybody may replace a link, who made it does not matter.
    fn manages(&self, caller: &Caller, link: &Link) -> bool {
        match caller {
            Caller::ManageKey(_) if self.ports.settings.mode == Mode::Replace => false,
            _ => self.ports.manage_keys.allows(caller, link),
        }
    }

    /// An owner's links, newest first.
    pub async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.ports.store.list(query).await
    }

    /// How often a link was followed, for somebody who may manage it.
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

    pub(super) async fn recall(&self, attempt: Option<&Attempt>) -> Result<Option<Outcome>> {
        match attempt {
            Some(attempt) => self.ports.store.recall(attempt).await,
            None => Ok(None),
        }
    }

    async fn kept(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.ports.store.find(short).await?;
        link.filter(|link| !link.is_forgotten(self.ports.clock.now(), self.ports.settings.reserved))
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
            return Err(Error::invalid("target", "leads to a host that is blocked here"));
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
const EXHAUSTED: Error = Error::gone("this link's clicks are used up");
