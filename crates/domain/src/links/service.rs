//! What can be done with links, and under which rules.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Blocklist, Caller, Candidate, Claim, ClickCounter, ClickLimit, ClickReport, ClickStore,
    Grouping, Link, LinkId, LinkQuery, LinkStore, ManageKeys, Origin, Outcome, RedirectCode, Short,
    State, Tags, TakenClick, Target, Visit,
};
use crate::{
    Attempt, Clock, Done, Error, Random, Result,
    passwords::{Password, PasswordHash, Passwords},
    random::time_ordered_id,
};

/// How often a change is tried again when others change the same link meanwhile.
const CHANGE_TRIES: usize = 5;

/// How many shorts a link without a chosen one may try: with 10⁹ links in use one try fails in 2,000.
const SPARES: usize = 3;

/// Most links in one bulk request.
pub const BULK_MAX: usize = 1_000;

/// Most links with a password in one bulk request: each costs a hash.
const BULK_PASSWORDS_MAX: usize = 20;

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

/// A link that somebody wants.
#[derive(Debug, Clone)]
pub struct NewLink {
    /// Where it leads.
    pub target: Target,
    /// Its short; one is made up if there is none.
    pub short: Option<Short>,
    /// The status of its redirects.
    pub redirect: RedirectCode,
    /// From when on it leads nowhere.
    pub expires_at: Option<Timestamp>,
    /// How often it may be followed.
    pub click_limit: Option<ClickLimit>,
    /// What a visitor must know.
    pub password: Option<Password>,
    /// What its owner sorts it by.
    pub tags: Tags,
}

impl NewLink {
    /// A link to `target` with nothing else asked for.
    pub fn to(target: Target) -> Self {
        let (short, expires_at, click_limit, password) = (None, None, None, None);
        Self {
            target,
            short,
            redirect: RedirectCode::default(),
            expires_at,
            click_limit,
            password,
            tags: Tags::default(),
        }
    }
}

/// What is to change about a link; `None` leaves it, `Some(None)` takes it away.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// Where it leads.
    pub target: Option<Target>,
    /// The status of its redirects.
    pub redirect: Option<RedirectCode>,
    /// From when on it leads nowhere.
    pub expires_at: Option<Option<Timestamp>>,
    /// How often it may be followed, from now on.
    pub click_limit: Option<Option<ClickLimit>>,
    /// What a visitor must know.
    pub password: Option<Option<Password>>,
    /// What its owner sorts it by.
    pub tags: Option<Tags>,
    /// Whether its manage key is replaced, so that the old one opens nothing.
    pub new_manage_key: bool,
}

/// What came of `PUT /`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The short leads there from now on.
    Created,
    /// It did already.
    Already,
}

/// What came of following a link.
#[derive(Debug, Clone)]
pub enum Follow {
    /// Go there; the click is counted.
    To(Arc<Link>),
    /// Say the password first.
    Password(Arc<Link>),
}

/// The service.
pub struct Links {
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
    /// Creates a link. `here` are the origins that the request came in by.
    pub async fn create(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        let done = match self.recall(attempt.as_ref()).await? {
            Some(Outcome::Claims(claims)) => Done { outcome: claims, replayed: true },
            Some(_) => return Err(Error::KeyReused),
            None => {
                self.may_create(caller)?;
                let candidate = self.candidate(new, caller, here).await?;
                self.store.claim(vec![candidate], self.settings.reserved, attempt).await?
            }
        };
        Ok(Done { outcome: created(done.outcome.into_iter().next())?, replayed: done.replayed })
    }

    /// Creates many links, each on its own: one that cannot be leaves the others as they are.
    pub async fn create_many(
        &self,
        wishes: Vec<Result<NewLink>>,
        caller: &Caller,
        here: &[Origin],
        attempt: Option<Attempt>,
    ) -> Result<Done<Vec<Result<Link>>>> {
        self.may_create(caller)?;
        if wishes.is_empty() || wishes.len() > BULK_MAX {
            return Err(Error::invalid("links", format!("must be 1 to {BULK_MAX} links")));
        }
        let with_password = wishes.iter().flatten().filter(|new| new.password.is_some()).count();
        if with_password > BULK_PASSWORDS_MAX {
            return Err(Error::invalid(
                "links",
                format!("may hold at most {BULK_PASSWORDS_MAX} links with a password"),
            ));
        }
        let mut answers = Vec::with_capacity(wishes.len());
        let mut candidates = Vec::with_capacity(wishes.len());
        for wish in wishes {
            let candidate = match wish {
                Ok(new) => self.candidate(new, caller, here).await,
                Err(error) => Err(error),
            };
            answers.push(candidate.map(|candidate| candidates.push(candidate)));
        }
        let done = self.store.claim(candidates, self.settings.reserved, attempt).await?;
        if done.outcome.len() != answers.iter().filter(|answer| answer.is_ok()).count() {
            return Err(Error::Conflict(
                "the first answer cannot be repeated: what is allowed has changed since",
            ));
        }
        let mut claims = done.outcome.into_iter();
        let outcome = answers
            .into_iter()
            .map(|answer| answer.and_then(|()| created(claims.next())))
            .collect();
        Ok(Done { outcome, replayed: done.replayed })
    }

    /// `PUT /?short=&long=`: as [`Self::create`], but a short that leads there already is no error,
    /// and in replace mode the newest wins.
    pub async fn put(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        attempt: Option<Attempt>,
    ) -> Result<Done<Put>> {
        let target = new.target.clone();
        let done = match self.recall(attempt.as_ref()).await? {
            Some(outcome) => Done { outcome, replayed: true },
            None => self.put_anew(new, caller, here, attempt).await?,
        };
        let put = match done.outcome {
            Outcome::Replaced(link) if link.target == target => Put::Created,
            Outcome::Replaced(_) => return Err(Error::Conflict("a newer PUT has this short")),
            Outcome::Changed(_) => return Err(Error::KeyReused),
            Outcome::Claims(claims) => match claims.into_iter().next() {
                Some(Claim::Created(_)) => Put::Created,
                Some(Claim::Exists(link))
                    if link.target == target && link.state(self.clock.now()).0 == State::Live =>
                {
                    Put::Already
                }
                other => created(other).map(|_| Put::Created)?,
            },
        };
        Ok(Done { outcome: put, replayed: done.replayed })
    }

    async fn put_anew(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        attempt: Option<Attempt>,
    ) -> Result<Done<Outcome>> {
        self.may_create(caller)?;
        let candidate = self.candidate(new, caller, here).await?;
        if self.settings.mode == Mode::Claim {
            return Ok(self
                .store
                .claim(vec![candidate], self.settings.reserved, attempt)
                .await?
                .map(Outcome::Claims));
        }
        Ok(self
            .store
            .replace(Link { owner: None, ..candidate.link }, attempt)
            .await?
            .map(Outcome::Replaced))
    }

    /// Follows a link if that takes nothing but this process's memory; `None` says nothing about it.
    pub fn follow_at_once(&self, short: &str, visit: &Visit<'_>) -> Option<Arc<Link>> {
        let link = self.store.find_cached(short)?;
        let now = self.clock.now();
        if !link.is_plain()
            || link.state(now).0 != State::Live
            || self.blocklist.blocks(&link.target)
        {
            return None;
        }
        self.counter.count(link.id, visit, now);
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
            && !self.passwords.verify(password, hash.clone()).await?
        {
            return Err(Error::Forbidden("this is not the link's password"));
        }
        self.click(link, visit).await
    }

    /// The link, if it leads somewhere now; nothing is counted.
    pub async fn live(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.kept(short).await?;
        match link.state(self.clock.now()).0 {
            State::Live if self.blocklist.blocks(&link.target) => {
                Err(Error::Gone("this link leads to a host that is blocked here"))
            }
            State::Live => Ok(link),
            State::Expired => Err(Error::Gone("this link has expired")),
            State::Exhausted => Err(EXHAUSTED),
            State::Deleted => Err(Error::Gone("this link was deleted")),
        }
    }

    /// The link for somebody who may manage it, over or not (but not deleted).
    pub async fn managed(&self, short: &Short, caller: &Caller) -> Result<Arc<Link>> {
        let link = self.kept(short).await?;
        if link.deleted_at.is_some() {
            return Err(Error::Gone("this link was deleted"));
        }
        if self.manage_keys.allows(caller, &link) {
            return Ok(link);
        }
        Err(match caller {
            Caller::Anonymous => {
                Error::Unauthenticated("this needs the link's manage key, or its owner's API key")
            }
            Caller::Owner(_) | Caller::ManageKey(_) => {
                Error::Forbidden("this key does not open this link")
            }
        })
    }

    /// Changes a link; `expected` is the version that the caller read, if they insist on it.
    pub async fn edit(
        &self,
        short: &Short,
        edit: Edit,
        caller: &Caller,
        here: &[Origin],
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        if let Some(done) = self.recall_change(attempt.as_ref()).await? {
            return Ok(done);
        }
        if self.settings.mode == Mode::Replace {
            return Err(ONLY_PUT);
        }
        if let Some(target) = &edit.target {
            self.check_target(target, here)?;
        }
        self.check_expiry(edit.expires_at.flatten())?;
        let new_hash = match &edit.password {
            Some(Some(password)) => Some(Some(self.passwords.hash(password.clone()).await?)),
            Some(None) => Some(None),
            None => None,
        };
        self.change(short, caller, expected, attempt, |link| apply(link, &edit, new_hash.as_ref()))
            .await
    }

    /// Deletes a link; its short stays reserved.
    pub async fn delete(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        attempt: Option<Attempt>,
    ) -> Result<Done<Link>> {
        if let Some(done) = self.recall_change(attempt.as_ref()).await? {
            return Ok(done);
        }
        if self.settings.mode == Mode::Replace {
            return Err(ONLY_PUT);
        }
        let now = self.clock.now();
        self.change(short, caller, expected, attempt, |link| link.deleted_at = Some(now)).await
    }

    /// An owner's links, newest first.
    pub async fn list(&self, query: LinkQuery) -> Result<Vec<Arc<Link>>> {
        self.store.list(query).await
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
        self.click_store.report(link.id, by, since).await
    }

    async fn recall(&self, attempt: Option<&Attempt>) -> Result<Option<Outcome>> {
        match attempt {
            Some(attempt) => self.store.recall(attempt).await,
            None => Ok(None),
        }
    }

    async fn recall_change(&self, attempt: Option<&Attempt>) -> Result<Option<Done<Link>>> {
        match self.recall(attempt).await? {
            None => Ok(None),
            Some(Outcome::Changed(link)) => Ok(Some(Done { outcome: link, replayed: true })),
            Some(_) => Err(Error::KeyReused),
        }
    }

    async fn kept(&self, short: &Short) -> Result<Arc<Link>> {
        let link = self.store.find(short).await?;
        link.filter(|link| !link.is_forgotten(self.clock.now(), self.settings.reserved))
            .ok_or(UNKNOWN)
    }

    async fn click(&self, link: Arc<Link>, visit: &Visit<'_>) -> Result<Arc<Link>> {
        let now = self.clock.now();
        if link.click_limit.is_some()
            && self.store.take_click(&link.short, link.id, now).await? == TakenClick::No
        {
            return Err(EXHAUSTED);
        }
        self.counter.count(link.id, visit, now);
        Ok(link)
    }

    async fn change(
        &self,
        short: &Short,
        caller: &Caller,
        expected: Option<u64>,
        attempt: Option<Attempt>,
        apply: impl Fn(&mut Link),
    ) -> Result<Done<Link>> {
        for _ in 0..CHANGE_TRIES {
            let mut link = (*self.managed(short, caller).await?).clone();
            if expected.is_some_and(|version| version != link.version) {
                return Err(Error::Stale);
            }
            link.version += 1;
            link.changed_at = self.clock.now();
            apply(&mut link);
            if let Some(done) = self.store.change(link, attempt.clone()).await? {
                return Ok(done);
            }
        }
        Err(Error::Stale)
    }

    fn may_create(&self, caller: &Caller) -> Result<()> {
        match caller {
            Caller::Owner(_) => Ok(()),
            Caller::Anonymous | Caller::ManageKey(_) if self.settings.anonymous_creation => Ok(()),
            Caller::Anonymous | Caller::ManageKey(_) => {
                Err(Error::Unauthenticated("creating links here needs an API key"))
            }
        }
    }

    fn check_target(&self, target: &Target, here: &[Origin]) -> Result<()> {
        if target.loops_to(&self.settings.origins) || target.loops_to(here) {
            return Err(Error::invalid("target", "leads back to a short link of this server"));
        }
        if self.blocklist.blocks(target) {
            return Err(Error::invalid("target", "leads to a host that is blocked here"));
        }
        Ok(())
    }

    fn check_expiry(&self, expires_at: Option<Timestamp>) -> Result<()> {
        match expires_at {
            Some(at) if at <= self.clock.now() => {
                Err(Error::invalid("expires_at", "must be in the future"))
            }
            _ => Ok(()),
        }
    }

    async fn candidate(&self, new: NewLink, caller: &Caller, here: &[Origin]) -> Result<Candidate> {
        self.check_target(&new.target, here)?;
        self.check_expiry(new.expires_at)?;
        let password = match new.password {
            Some(password) => Some(self.passwords.hash(password).await?),
            None => None,
        };
        let (short, spares) = match new.short {
            Some(short) => (short, Vec::new()),
            None => (
                Short::generate(&*self.random),
                (0..SPARES).map(|_| Short::generate(&*self.random)).collect(),
            ),
        };
        let now = self.clock.now();
        let link = Link {
            id: LinkId(time_ordered_id(&*self.random, now)),
            short,
            target: new.target,
            redirect: new.redirect,
            version: 1,
            key_version: 1,
            owner: caller.owner(),
            created_at: now,
            changed_at: now,
            deleted_at: None,
            expires_at: new.expires_at,
            click_limit: new.click_limit,
            password,
            tags: new.tags,
        };
        Ok(Candidate { link, spares })
    }
}

const UNKNOWN: Error = Error::NotFound("there is no such link");
const ONLY_PUT: Error =
    Error::Forbidden("this deployment's links are changed by PUT alone (links.mode = \"replace\")");
const TAKEN: Error = Error::Conflict("this short is taken");
const EXHAUSTED: Error = Error::Gone("this link's clicks are used up");

fn created(claim: Option<Claim>) -> Result<Link> {
    match claim {
        Some(Claim::Created(link)) => Ok(link),
        Some(Claim::Exists(_)) => Err(TAKEN),
        None => Err(Error::internal("a claim without an outcome")),
    }
}

fn apply(link: &mut Link, edit: &Edit, new_hash: Option<&Option<PasswordHash>>) {
    if let Some(target) = &edit.target {
        link.target = target.clone();
    }
    if let Some(redirect) = edit.redirect {
        link.redirect = redirect;
    }
    if let Some(expires_at) = edit.expires_at {
        link.expires_at = expires_at;
    }
    if let Some(limit) = edit.click_limit {
        link.click_limit = limit;
    }
    if let Some(hash) = new_hash {
        link.password.clone_from(hash);
    }
    if let Some(tags) = &edit.tags {
        link.tags = tags.clone();
    }
    link.key_version += u32::from(edit.new_manage_key);
}
