//! What can be done with accounts, and under which rules.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, AccountStore, Actor, Event, EventKind, Failures, IdentityStore, NewAccount,
    NewSession, Providers, Session, SessionDigest, SessionId, SessionStore, SignedIn, TOKEN_PREFIX,
    Username, session,
};
use crate::{
    Clock, Error, Random, Result,
    passwords::{Password, PasswordHash, Passwords},
    random::time_ordered_id,
    secret::{self, InstallationSecret},
};

/// What a deployment decides about its accounts.
#[derive(Debug, Clone)]
pub struct AccountsSettings {
    /// How long a session lasts from its sign-in on.
    pub session_lifetime: SignedDuration,
    /// Whether anybody may make an account.
    pub open_sign_up: bool,
}

/// The service.
pub struct Accounts {
    pub(super) ports: AccountsPorts,
}

/// What the service is made of.
pub struct AccountsPorts {
    /// Keeps the accounts.
    pub store: Arc<dyn AccountStore>,
    /// Keeps their sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Counts failures to sign in.
    pub failures: Arc<dyn Failures>,
    /// Hashes passwords.
    pub passwords: Arc<dyn Passwords>,
    /// Says what time it is.
    pub clock: Arc<dyn Clock>,
    /// Makes tokens.
    pub random: Arc<dyn Random>,
    /// Keeps which identities open which accounts.
    pub identities: Arc<dyn IdentityStore>,
    /// Says who somebody is elsewhere.
    pub providers: Arc<dyn Providers>,
    /// Signs what browsers keep for us.
    pub secret: InstallationSecret,
    /// What the deployment decided.
    pub settings: AccountsSettings,
}

/// A session that has just begun, with its token, the only time that it can be had.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
pub struct FreshSession {
    /// What its holder carries.
    #[debug(skip)]
    pub token: String,
    /// Who is signed in by it.
    pub signed_in: SignedIn,
}

impl Accounts {
    /// The service over these.
    pub fn new(ports: AccountsPorts) -> Self {
        Self { ports }
    }

    /// Who is signed in by a token.
    pub async fn who(&self, digest: SessionDigest) -> Result<SignedIn> {
        self.ports
            .sessions
            .find(digest, self.ports.clock.now())
            .await?
            .ok_or(Error::unauthenticated("this session is not known, or has ended"))
    }

    /// The account of that name.
    pub async fn user(&self, name: &Username) -> Result<Account> {
        let found = self.ports.store.find(name).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// Hashes a password that many accounts are to have.
    pub async fn hash(&self, password: Password) -> Result<PasswordHash> {
        self.ports.passwords.hash(password).await
    }

    /// Adds accounts as they are; of each, whether it was not there.
    pub async fn add_many(&self, new: Vec<NewAccount>) -> Result<Vec<bool>> {
        self.ports.store.add_many(new).await
    }

    /// Refused where only administrators make accounts.
    pub(super) fn is_open(&self) -> Result<()> {
        if self.ports.settings.open_sign_up {
            return Ok(());
        }
        Err(Error::forbidden("accounts are made by the administrators here"))
    }

    /// What the owner of an account does to it now.
    pub(super) fn by_owner(&self, account: AccountId, kind: EventKind) -> Event {
        self.event(account, kind, Actor::Owner)
    }

    /// The account of that number.
    pub(super) async fn account(&self, id: AccountId) -> Result<Account> {
        let found = self.ports.store.get(id).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// The time at which something made now expires.
    pub(super) fn expiry(&self, lifetime: SignedDuration) -> Timestamp {
        self.ports.clock.now().saturating_add(lifetime).unwrap_or(Timestamp::MAX)
    }

    /// What happens to an account now.
    pub(super) fn event(&self, account: AccountId, kind: EventKind, by: Actor) -> Event {
        Event { account, at: self.ports.clock.now(), kind, by }
    }

    /// Begins a session of somebody who has proved who they are; `None` if that has changed meanwhile.
    pub async fn begin(
        &self,
        account: Account,
        kind: EventKind,
        agent: &str,
    ) -> Result<Option<FreshSession>> {
        let now = self.ports.clock.now();
        let token = secret::random_token(TOKEN_PREFIX, &*self.ports.random);
        let expires_at = now.saturating_add(self.ports.settings.session_lifetime);
        let session = Session {
            id: SessionId(time_ordered_id(&*self.ports.random, now)),
            account: account.id,
            created_at: now,
            expires_at: expires_at.unwrap_or(Timestamp::MAX),
            agent: session::described(agent),
        };
        let digest = SessionDigest::of(&token);
        let new = NewSession { session: session.clone(), digest, epoch: account.epoch, kind };
        let began = self.ports.sessions.begin(new).await?;
        Ok(began.then_some(FreshSession { token, signed_in: SignedIn { session, account } }))
    }
}

pub(super) const NO_ACCOUNT: Error = Error::not_found("there is no such account");
