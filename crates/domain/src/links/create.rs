//! Creation of links.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{
    Caller, Candidate, Claim, ClickLimit, Link, LinkId, LinkState, Links, Mode, Origin,
    RedirectCode, Refusal, Replaced, Short, StoredLinkOutcome, Tags, Target,
};
use crate::{
    Error, IdempotencyKey, Idempotent, Result, password_hasher::PasswordOf, passwords::Password,
};

/// The spare shorts of a link without a chosen one: with 10⁹ links in use one try fails in 2,000.
const SPARES: usize = 3;

/// The maximum links in one bulk request.
pub const BULK_MAX: usize = 1_000;

/// The maximum links with a password in one bulk request: each costs a hash.
const BULK_PASSWORDS_MAX: usize = 20;

/// A link to create.
#[derive(Debug, Clone)]
pub struct NewLink {
    /// The target.
    pub target: Target,
    /// The short; generated if `None`.
    pub short: Option<Short>,
    /// The status of its redirects.
    pub redirect: RedirectCode,
    /// The expiry.
    pub expires_at: Option<Timestamp>,
    /// The click limit.
    pub click_limit: Option<ClickLimit>,
    /// The password that visitors must enter.
    pub password: Option<Password>,
    /// The owner's tags.
    pub tags: Tags,
}

impl NewLink {
    /// Creates a link to `target` with default values.
    pub fn to(target: Target) -> Self {
        Self {
            target,
            short: None,
            redirect: RedirectCode::default(),
            expires_at: None,
            click_limit: None,
            password: None,
            tags: Tags::default(),
        }
    }
}

/// The outcome of `PUT /`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The short now leads to the target.
    Created,
    /// The short already led to the target.
    Already,
}

impl Links {
    /// Creates a link. `here` are the origins by which the request arrived. A refusal is stored as an outcome, too,
    /// and returned to repeated requests.
    pub async fn create(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Result<Link>>> {
        let done = if let Some(outcome) = self.stored_outcome(idempotency.as_ref()).await? {
            Idempotent { outcome: outcome.claims()?, replayed: true }
        } else {
            self.may_create(caller)?;
            let candidate = self.candidate(new, caller, here).await?;
            self.ports
                .store
                .claim(vec![Ok(candidate)], self.ports.settings.reserved, idempotency)
                .await?
        };
        Ok(done.map(|claims| self.created(claims.into_iter().next())))
    }

    /// Creates many links independently: a refused link does not affect the others.
    pub async fn create_many(
        &self,
        requests: Vec<Result<NewLink>>,
        caller: &Caller,
        here: &[Origin],
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Vec<Result<Link>>>> {
        let done = if let Some(outcome) = self.stored_outcome(idempotency.as_ref()).await? {
            Idempotent { outcome: outcome.claims()?, replayed: true }
        } else {
            self.may_create(caller)?;
            check_bulk(&requests)?;
            let mut candidates = Vec::with_capacity(requests.len());
            for request in requests {
                candidates.push(self.candidate_or_refusal(request, caller, here).await?);
            }
            self.ports.store.claim(candidates, self.ports.settings.reserved, idempotency).await?
        };
        Ok(done.map(|claims| claims.into_iter().map(|claim| self.created(Some(claim))).collect()))
    }

    /// Turns an invalid link into a refusal. Any other error fails the whole request, because a retry may succeed.
    async fn candidate_or_refusal(
        &self,
        request: Result<NewLink>,
        caller: &Caller,
        here: &[Origin],
    ) -> Result<Result<Candidate, Refusal>> {
        let candidate = match request {
            Ok(new) => self.candidate(new, caller, here).await,
            Err(error) => Err(error),
        };
        match candidate {
            Ok(candidate) => Ok(Ok(candidate)),
            Err(Error::Invalid { field, reason }) => Ok(Err(Refusal { field, reason })),
            Err(error) => Err(error),
        }
    }

    /// `PUT /?short=&long=`: like [`Self::create`], but a short that already leads to the target is no error, and
    /// in replace mode the newest request wins.
    pub async fn put(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<Result<Put>>> {
        let target = new.target.clone();
        let done = match self.stored_outcome(idempotency.as_ref()).await? {
            Some(outcome) => Idempotent { outcome, replayed: true },
            None => self.put_once(new, caller, here, idempotency).await?,
        };
        Ok(done.map(|outcome| match outcome {
            // A PUT that a newer one overtook was accepted, and then replaced.
            StoredLinkOutcome::Replaced(Replaced { already, .. }) if !already => Ok(Put::Created),
            StoredLinkOutcome::Replaced(_) => Ok(Put::Already),
            StoredLinkOutcome::Changed(_) => Err(Error::KeyReused),
            StoredLinkOutcome::Claims(claims) => match claims.into_iter().next() {
                // Guessing must not reveal the target of a protected link.
                Some(Claim::Exists(link))
                    if link.target == target
                        && link.is_plain()
                        && link.state(self.ports.clock.now()).0 == LinkState::Live =>
                {
                    Ok(Put::Already)
                }
                other => self.created(other).map(|_| Put::Created),
            },
        }))
    }

    /// Whether an outcome is stored for this idempotency key, so that the request costs nothing.
    pub async fn knows(&self, idempotency: Option<&IdempotencyKey>) -> Result<bool> {
        Ok(self.stored_outcome(idempotency).await?.is_some())
    }

    async fn put_once(
        &self,
        new: NewLink,
        caller: &Caller,
        here: &[Origin],
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Idempotent<StoredLinkOutcome>> {
        self.may_create(caller)?;
        let Candidate { mut link, spares } = self.candidate(new, caller, here).await?;
        if self.ports.settings.mode == Mode::Claim {
            // A PUT of an existing link changes nothing, so the copy that a redirect would use is enough.
            let is = self.ports.store.find_cached(link.short.as_str());
            if let Some(is) = is.filter(|is| idempotency.is_none() && is.already_leads(&link)) {
                let claims = vec![Claim::Exists(Arc::unwrap_or_clone(is))];
                return Ok(Idempotent::fresh(StoredLinkOutcome::Claims(claims)));
            }
            let candidates = vec![Ok(Candidate { link, spares })];
            let done = self
                .ports
                .store
                .claim(candidates, self.ports.settings.reserved, idempotency)
                .await?;
            return Ok(done.map(StoredLinkOutcome::Claims));
        }
        // Newer than any version that the client may have seen, even within a millisecond or if the clock was set
        // back.
        let was = self.ports.store.find_lately(&link.short).await?;
        if let Some(was) = &was {
            let next = was.changed_at.saturating_add(SignedDuration::from_millis(1));
            link.changed_at = link.changed_at.max(next.unwrap_or(Timestamp::MAX));
        }
        // A write-behind store may not know yet.
        let already = was.is_some_and(|was| was.already_leads(&link));
        link.owner = None;
        let done = self.ports.store.replace(link, idempotency).await?;
        Ok(done.map(|is| {
            StoredLinkOutcome::Replaced(Replaced { already: is.already || already, ..is })
        }))
    }

    fn may_create(&self, caller: &Caller) -> Result<()> {
        if caller.owner().is_some() || self.ports.settings.anonymous_creation {
            return Ok(());
        }
        Err(Error::unauthenticated(
            "creating links on this server requires an API key or a session",
        ))
    }

    async fn candidate(&self, new: NewLink, caller: &Caller, here: &[Origin]) -> Result<Candidate> {
        self.check_protection(new.password.is_some() || new.click_limit.is_some())?;
        self.check_target(&new.target, here)?;
        self.check_expiry(new.expires_at)?;
        let password = match new.password {
            Some(password) => {
                let of = PasswordOf::Link(caller.owner());
                Some(self.ports.passwords.hash(of, password).await?)
            }
            None => None,
        };
        let (short, spares) = match new.short {
            Some(short) => (short, Vec::new()),
            None => (
                Short::generate(&*self.ports.random),
                (0..SPARES).map(|_| Short::generate(&*self.ports.random)).collect(),
            ),
        };
        let now = self.ports.clock.now();
        let link = Link {
            redirect: new.redirect,
            owner: caller.owner(),
            expires_at: new.expires_at,
            click_limit: new.click_limit,
            password,
            tags: new.tags,
            ..Link::new(self.new_id(&short, now), short, new.target, now)
        };
        Ok(Candidate { link, spares })
    }

    /// Refuses a link with a password or a click limit in replace mode.
    pub(super) fn check_protection(&self, is_protected: bool) -> Result<()> {
        if is_protected && self.ports.settings.mode == Mode::Replace {
            // The next PUT, by any caller, would remove the protection.
            let reason = "is \"replace\", in which links have neither passwords nor click limits";
            return Err(Error::invalid("links.mode", reason));
        }
        Ok(())
    }

    fn created(&self, claim: Option<Claim>) -> Result<Link> {
        match claim {
            Some(Claim::Created(link)) => Ok(link),
            Some(Claim::Exists(link)) => Err(taken(&link, self.ports.clock.now())),
            Some(Claim::Refused(Refusal { field, reason })) => {
                Err(Error::Invalid { field, reason })
            }
            None => Err(Error::internal("the store returned no outcome for a claim")),
        }
    }

    /// Returns the id of a link that is created now.
    pub(super) fn new_id(&self, short: &Short, created_at: Timestamp) -> LinkId {
        match self.ports.settings.mode {
            Mode::Claim => LinkId(self.ids.create(&*self.ports.random, created_at)),
            // The row of a short keeps its id, whichever process writes it first.
            Mode::Replace => LinkId::of(short),
        }
    }
}

/// Says why the short of an existing link cannot be claimed.
pub(super) fn taken(link: &Link, now: Timestamp) -> Error {
    Error::conflict(match link.state(now).0 {
        LinkState::Live => "this short is taken; choose another one",
        LinkState::Expired => {
            "this short is reserved, because its link has expired; choose another one"
        }
        LinkState::Exhausted => {
            "this short is reserved, because its link has reached its click limit; choose another one"
        }
        LinkState::Deleted => {
            "this short is reserved, because its link was deleted; choose another one"
        }
    })
}

fn check_bulk(requests: &[Result<NewLink>]) -> Result<()> {
    if requests.is_empty() || requests.len() > BULK_MAX {
        return Err(Error::invalid("links", format!("must be 1 to {BULK_MAX} links")));
    }
    let with_password = requests.iter().flatten().filter(|new| new.password.is_some()).count();
    if with_password > BULK_PASSWORDS_MAX {
        let reason = format!("must contain at most {BULK_PASSWORDS_MAX} links with a password");
        return Err(Error::invalid("links", reason));
    }
    Ok(())
}
