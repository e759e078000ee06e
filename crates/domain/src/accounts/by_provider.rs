//! Proving who one is by a provider.

use std::net::IpAddr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{
    Accounts, Arrival, Departure, EventKind, Exchange, Flow, FreshSession, Identified, Identity,
    Linked, LinkedIdentity, NewAccount, NewTicket, Provider, ProviderName, Redeemed, SessionDigest,
    SessionId, SignedIn, TicketDigest, Unlink, Unlinked, Username, journey::Journey,
    sign_in::BANNED,
};
use crate::{Error, Result, passwords::Password, secret};

/// How long a newcomer may take to choose a name.
pub const TICKET_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// What tickets start with.
const TICKET_PREFIX: &str = "ticket_";

/// How somebody is received who comes back from a provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Welcome {
    /// They have an account, and are let in.
    SignedIn {
        /// With this session.
        fresh: FreshSession,
        /// Where they wanted to go on when they left; nothing if they did not say.
        #[debug(skip)]
        next: String,
    },
    /// They have none, and may make one.
    #[debug("Newcomer(…)")]
    Newcomer {
        /// With this, for 15 minutes.
        ticket: String,
        /// A name that may suit them, and is free.
        suggested: Option<Username>,
        /// As of those who have an account.
        next: String,
    },
    /// They were signed in, and it opens their account from now on.
    Linked,
}

/// An account that a newcomer wants.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Newcomer {
    /// What proves that a provider knows them.
    pub ticket: TicketDigest,
    /// The account's name.
    pub username: Username,
    /// What their device says that it is.
    pub agent: String,
}

impl Accounts {
    /// The providers that one can sign in by.
    pub fn providers(&self) -> Vec<Provider> {
        self.ports.providers.list().to_vec()
    }

    /// Sends somebody to a provider, to come back to `redirect_uri`, sign in, and go on to `next`.
    pub async fn depart(
        &self,
        provider: ProviderName,
        redirect_uri: String,
        next: String,
    ) -> Result<Departure> {
        self.set_out(provider, redirect_uri, None, next).await
    }

    /// The same for somebody who is signed in, to sign in by it from then on. They say their password again,
    /// and who has none has begun the session just now.
    pub async fn depart_to_link(
        &self,
        me: &SignedIn,
        provider: ProviderName,
        redirect_uri: String,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<Departure> {
        self.said_again(me, current, from).await?;
        self.set_out(provider, redirect_uri, Some(me.session.id), String::new()).await
    }

    async fn set_out(
        &self,
        provider: ProviderName,
        redirect_uri: String,
        linking: Option<SessionId>,
        next: String,
    ) -> Result<Departure> {
        let flow = Flow::new(&*self.ports.random);
        let url = self.ports.providers.authorization_url(&provider, &redirect_uri, &flow).await?;
        let journey = Journey { provider, redirect_uri, flow, linking, next };
        let kept = journey.seal(&self.ports.secret, self.ports.clock.now())?;
        Ok(Departure { url, kept })
    }

    /// Receives somebody who comes back from a provider, with the session that their browser has. Whose an
    /// address of theirs is here is not asked: it is no identity.
    pub async fn arrive(
        &self,
        arrival: Arrival,
        agent: &str,
        session: Option<SessionDigest>,
    ) -> Result<Welcome> {
        let Arrival { provider, kept, state, code, error, issuer } = arrival;
        let journey = Journey::open(&self.ports.secret, &kept, self.ports.clock.now());
        let journey = journey.filter(|journey| journey.is_answered_by(&provider, &state));
        let Journey { redirect_uri, flow, linking, next, .. } = journey.ok_or(NOT_ASKED)?;
        if let Some(error) = error {
            return Err(declined(&error));
        }
        let code = code.filter(|code| !code.is_empty()).ok_or(NOT_ASKED)?;
        let exchange = Exchange { provider, code, issuer, redirect_uri, flow };
        if let Some(asked_in) = linking {
            let me = self.still_signed_in(session, asked_in).await?;
            let identity = self.ports.providers.identify(&exchange).await?.identity;
            return self.link(&me, identity).await.map(|()| Welcome::Linked);
        }
        let Identified { identity, called } = self.ports.providers.identify(&exchange).await?;
        match self.ports.identities.find(&identity).await? {
            Some(account) if account.banned_at.is_some() => Err(BANNED),
            Some(account) => {
                let fresh = self.begin(account, EventKind::SignedInByProvider, agent).await?;
                fresh.map(|fresh| Welcome::SignedIn { fresh, next }).ok_or(CHANGED)
            }
            None => self.invite(identity, called, next).await,
        }
    }

    /// Whoever is signed in by the session, if it is the one in which they asked.
    async fn still_signed_in(
        &self,
        session: Option<SessionDigest>,
        asked_in: SessionId,
    ) -> Result<SignedIn> {
        let session = session.ok_or(ANOTHER_SESSION)?;
        let me = self.ports.sessions.find(session, self.ports.clock.now()).await?;
        me.filter(|me| me.session.id == asked_in).ok_or(ANOTHER_SESSION)
    }

    /// Gives somebody a ticket whom a provider knows, and nobody here.
    async fn invite(
        &self,
        identity: Identity,
        called: Option<String>,
        next: String,
    ) -> Result<Welcome> {
        self.is_open()?;
        let ticket = secret::random_token(TICKET_PREFIX, &*self.ports.random);
        let (digest, expires_at) = (TicketDigest::of(&ticket), self.expiry(TICKET_LIFETIME));
        self.ports.identities.issue(NewTicket { digest, identity, expires_at }).await?;
        let suggested = self.suggested(called).await?;
        Ok(Welcome::Newcomer { ticket, suggested, next })
    }

    /// Makes an account without a password for somebody with a ticket, and lets them in.
    pub async fn make_from_provider(&self, newcomer: Newcomer) -> Result<FreshSession> {
        self.is_open()?;
        let Newcomer { ticket, username, agent } = newcomer;
        let account = NewAccount::new(username, None, self.ports.clock.now());
        match self.ports.identities.redeem(ticket, account).await? {
            Redeemed::Made(account) => {
                let fresh = self.begin(account, EventKind::SignedInByProvider, &agent).await?;
                fresh.ok_or(CHANGED)
            }
            Redeemed::Taken => Err(Error::conflict("this name is taken")),
            Redeemed::Known => Err(Error::gone("you have an account already; sign in again")),
            Redeemed::NoTicket => {
                Err(Error::gone("your sign-in by the provider was too long ago; begin again"))
            }
        }
    }

    /// Lets an identity open one's account from now on.
    async fn link(&self, me: &SignedIn, identity: Identity) -> Result<()> {
        let event = self.by_owner(me.account.id, EventKind::Linked);
        match self.ports.identities.link(identity, me.session.id, event).await? {
            Linked::Done => Ok(()),
            Linked::Elsewhere => Err(Error::conflict("this opens another account already")),
            Linked::Another => {
                Err(Error::conflict("somebody else of this provider opens your account already"))
            }
            Linked::NoSession => Err(ANOTHER_SESSION),
        }
    }

    /// Lets nobody of an issuer open one's account any more, and ends all other sessions: they may have begun
    /// by it. It need be no provider's that is set up now.
    pub async fn unlink(&self, me: &SignedIn, issuer: String) -> Result<()> {
        let set_up = self.ports.providers.list().iter();
        let unlink = Unlink {
            issuer,
            kept: me.session.id,
            issuers: set_up.map(|provider| provider.issuer.clone()).collect(),
        };
        let event = self.by_owner(me.account.id, EventKind::Unlinked);
        match self.ports.identities.unlink(unlink, event).await? {
            Unlinked::Done => Ok(()),
            Unlinked::NotLinked => {
                Err(Error::not_found("this provider does not open your account"))
            }
            Unlinked::OnlyWay => Err(Error::conflict(
                "nothing else opens your account; set a password first, or link another provider",
            )),
        }
    }

    /// The identities that open one's account.
    pub async fn identities(&self, me: &SignedIn) -> Result<Vec<LinkedIdentity>> {
        self.ports.identities.list(me.account.id).await
    }

    /// A free name like the one that somebody has elsewhere; of an address, what stands before the @.
    async fn suggested(&self, called: Option<String>) -> Result<Option<Username>> {
        let called = called.unwrap_or_default();
        let plain = called.split('@').next().unwrap_or_default();
        let Ok(name) = Username::parse(plain) else { return Ok(None) };
        Ok(self.ports.store.find(&name).await?.is_none().then_some(name))
    }
}

/// What a provider's refusal means (RFC 6749, section 4.1.2.1). Its own words are nobody's to trust.
fn declined(error: &str) -> Error {
    match error {
        "access_denied" => Error::forbidden("you did not let the provider say who you are"),
        "temporarily_unavailable" | "server_error" => {
            Error::unavailable("the provider says that it cannot do it now")
        }
        _ => Error::forbidden("the provider did not say who you are"),
    }
}

const NOT_ASKED: Error = Error::forbidden(
    "this is no answer to what this browser asked in the last ten minutes; begin again",
);
const ANOTHER_SESSION: Error =
    Error::forbidden("you are not signed in any more as when you began; begin again");

/// What was read of the account was no longer so when something was to rest on it.
pub(super) const CHANGED: Error = Error::forbidden("this account has just changed; sign in again");
