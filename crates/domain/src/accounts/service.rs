//! The accounts service and its ports.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountEvent, AccountEventKind, AccountId, AccountStore, Actor, BreachedPasswords,
    IdentityStore, NewAccount, NewPassword, NewSession, Providers, Session, SessionDigest,
    SessionId, SessionStore, SignedIn, TOKEN_PREFIX, Username, device, session,
    setup::SETUP_PREFIX,
};
use crate::{
    Clock, Error, Random, Result,
    failures::Failures,
    password_hasher::{PasswordHasher, PasswordOf},
    passwords::{Password, PasswordHash},
    random::time_ordered_id,
    secret::{self, InstallationSecret, SecretText},
    security::{self, SecurityActor, SecurityEventStore},
};

/// The settings of the accounts app.
#[derive(Debug, Clone)]
pub struct AccountsSettings {
    /// The lifetime of a session from its sign-in on.
    pub session_lifetime: SignedDuration,
    /// The time after which a session ends that is not used.
    pub session_idle: SignedDuration,
    /// Whether visitors may create accounts.
    pub open_sign_up: bool,
}

/// The accounts service.
pub struct Accounts {
    pub(super) ports: AccountsPorts,
    pub(super) setup_code: SecretText,
}

/// The ports and settings of the service.
pub struct AccountsPorts {
    /// The account store.
    pub store: Arc<dyn AccountStore>,
    /// The session store.
    pub sessions: Arc<dyn SessionStore>,
    /// Counters of wrong passwords.
    pub failures: Arc<dyn Failures>,
    /// The password hasher.
    pub passwords: Arc<dyn PasswordHasher>,
    /// The list of stolen passwords, which are refused.
    pub breached: Option<Arc<dyn BreachedPasswords>>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The store of security events.
    pub security_events: Arc<dyn SecurityEventStore>,
    /// The source of random ids and tokens.
    pub random: Arc<dyn Random>,
    /// The store of linked identities.
    pub identities: Arc<dyn IdentityStore>,
    /// The client of the identity providers.
    pub providers: Arc<dyn Providers>,
    /// The secret that signs authorization states and keys the fingerprints of sign-ups.
    pub secret: InstallationSecret,
    /// The settings.
    pub settings: AccountsSettings,
}

/// A new session with its token, which cannot be retrieved later.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
pub struct FreshSession {
    /// The session token.
    #[debug(skip)]
    pub token: String,
    /// The session and its account.
    pub signed_in: SignedIn,
    /// The proof that the account has signed in on this device; see [`SignIn::device`](super::SignIn::device).
    #[serde(default)]
    pub device: SecretText,
    /// How long the session lasts at most, if it is used: its expiry is put off at each use.
    #[serde(default)]
    pub lifetime: SignedDuration,
}

/// A use puts off the expiry of a session by at least this: not each use writes.
const EXTENSION_MIN: SignedDuration = SignedDuration::from_hours(1);

impl Accounts {
    /// Creates the service.
    pub fn new(ports: AccountsPorts) -> Self {
        let setup_code = secret::random_token(SETUP_PREFIX, &*ports.random).into();
        Self { ports, setup_code }
    }

    /// Returns the session with this token digest and its account. This use puts off its expiry.
    pub async fn who(&self, digest: SessionDigest) -> Result<SignedIn> {
        let now = self.ports.clock.now();
        let found = self.ports.sessions.find(digest, now).await?;
        let mut me = found.ok_or(ENDED)?;
        security::acting_as(SecurityActor::Account(me.account.id));
        let expires_at = self.session_expiry(me.session.created_at, now);
        if expires_at.duration_since(me.session.expires_at) >= EXTENSION_MIN {
            // If it fails, the next use tries again.
            if self.ports.sessions.extend(digest, expires_at).await.is_ok() {
                me.session.expires_at = expires_at;
            }
        }
        Ok(me)
    }

    /// Returns when a session ends that began at `created_at` and was last used at `used_at`.
    fn session_expiry(&self, created_at: Timestamp, used_at: Timestamp) -> Timestamp {
        let AccountsSettings { session_lifetime, session_idle, .. } = self.ports.settings;
        let after = |begin: Timestamp, time| begin.saturating_add(time).unwrap_or(Timestamp::MAX);
        after(created_at, session_lifetime).min(after(used_at, session_idle))
    }

    /// Returns the account with this username.
    pub async fn user(&self, name: &Username) -> Result<Account> {
        let found = self.ports.store.find(name).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// Hashes a new password, the value of `field`, unless it is on the list of stolen ones. Every way to set a password
    /// goes through here: the list may be too large to have on every web process.
    pub(super) async fn hash_new(
        &self,
        of: PasswordOf,
        field: &'static str,
        new: NewPassword,
    ) -> Result<PasswordHash> {
        let password = new.into_password();
        if self.ports.breached.as_ref().is_some_and(|list| list.contains(&password)) {
            return Err(Error::invalid(
                field,
                "occurs in published lists of stolen passwords; choose another one",
            ));
        }
        self.ports.passwords.hash(of, password).await
    }

    /// Hashes a password that many accounts are to share.
    pub async fn hash(&self, password: Password) -> Result<PasswordHash> {
        self.ports.passwords.hash(PasswordOf::Client(None), password).await
    }

    /// Adds accounts unchanged; returns for each whether its name was free.
    pub async fn add_many(&self, new: Vec<NewAccount>) -> Result<Vec<bool>> {
        self.ports.store.add_many(new).await
    }

    /// Returns [`Error::Forbidden`] where sign-up is closed.
    pub(super) fn is_open(&self) -> Result<()> {
        if self.ports.settings.open_sign_up {
            return Ok(());
        }
        Err(Error::forbidden(
            "sign-up is closed on this server; ask an administrator for an account",
        ))
    }

    /// Creates an event caused by the account's owner now.
    pub(super) fn by_owner(&self, account: AccountId, kind: AccountEventKind) -> AccountEvent {
        self.event(account, kind, Actor::Owner)
    }

    /// Returns the account with this number.
    pub(super) async fn account(&self, id: AccountId) -> Result<Account> {
        let found = self.ports.store.get(id).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// Returns the expiry of something created now.
    pub(super) fn expiry(&self, lifetime: SignedDuration) -> Timestamp {
        self.ports.clock.now().saturating_add(lifetime).unwrap_or(Timestamp::MAX)
    }

    /// Creates an event at the current time.
    pub(super) fn event(
        &self,
        account: AccountId,
        kind: AccountEventKind,
        by: Actor,
    ) -> AccountEvent {
        AccountEvent { account, at: self.ports.clock.now(), kind, by }
    }

    /// Begins a session of an account whose owner authenticated at this time, if it is known; `None` if the account has
    /// changed since.
    pub async fn begin(
        &self,
        account: Account,
        kind: AccountEventKind,
        agent: &str,
        authenticated_at: Option<Timestamp>,
    ) -> Result<Option<FreshSession>> {
        let (now, token) = (self.ports.clock.now(), self.new_token());
        let session = Session {
            id: SessionId(time_ordered_id(&*self.ports.random, now)),
            account: account.id,
            created_at: now,
            expires_at: self.session_expiry(now, now),
            agent: session::described(agent),
            authenticated_at,
        };
        let digest = SessionDigest::of(&token);
        let new = NewSession { session: session.clone(), digest, epoch: account.epoch, kind };
        let began = self.ports.sessions.begin(new).await?;
        if began {
            let by_provider = kind == AccountEventKind::SignedInByProvider;
            let way = if by_provider { "by a provider" } else { "with a password" };
            self.by_owner(account.id, kind).record(way);
        }
        Ok(began.then(|| self.fresh(token, SignedIn { session, account })))
    }

    pub(super) fn new_token(&self) -> String {
        secret::random_token(TOKEN_PREFIX, &*self.ports.random)
    }

    /// Returns what a browser gets with a new token.
    pub(super) fn fresh(&self, token: String, signed_in: SignedIn) -> FreshSession {
        let now = self.ports.clock.now();
        let device = device::token(&self.ports.secret, &signed_in.account, now);
        let lifetime = self.ports.settings.session_lifetime;
        FreshSession { token, signed_in, device, lifetime }
    }
}

pub(super) const ENDED: Error = Error::unauthenticated("this session is unknown or has ended");
pub(super) const NO_ACCOUNT: Error = Error::not_found("there is no such account");
