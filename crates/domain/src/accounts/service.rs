//! What can be done with accounts, and under which rules.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, AccountStore, EventKind, Failures, IdentityStore, NewSession, Providers,
    Session, SessionDigest, SessionId, SessionStore, SignedIn, TOKEN_PREFIX, Username, session,
};
use crate::{
    Clock, Error, Random, Result,
    passwords::Passwords,
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
#[derive(Clone, Serialize, Deserialize)]
pub struct FreshSession {
    /// What its holder carries.
    pub token: String,
    /// Who is signed in by it.
    pub signed_in: SignedIn,
}

impl std::fmt::Debug for FreshSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FreshSession").field("signed_in", &self.signed_in).finish_non_exhaustive()
    }
}

impl Accounts {
    /// Who is signed in by a token.
    pub async fn who(&self, digest: SessionDigest) -> Result<SignedIn> {
        self.sessions
            .find(digest, self.clock.now())
            .await?
            .ok_or(Error::unauthenticated("this session is not known, or has ended"))
    }

    /// The account of that name.
    pub async fn user(&self, name: &Username) -> Result<Account> {
        let found = self.store.find(name).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// Refused where only administrators make accounts.
    pub(super) fn is_open(&self) -> Result<()> {
        if self.settings.open_sign_up {
            return Ok(());
        }
        Err(Error::forbidden("accounts are made by the administrators here"))
    }

    /// The account of that number.
    pub(super) async fn account(&self, id: AccountId) -> Result<Account> {
        let found = self.store.get(id).await?;
        found.map(|(account, _)| account).ok_or(NO_ACCOUNT)
    }

    /// Begins a session of somebody who has proved who they are; `None` if that has changed meanwhile.
    pub(super) async fn begin(
        &self,
        account: Account,
        kind: EventKind,
        agent: &str,
    ) -> Result<Option<FreshSession>> {
        let now = self.clock.now();
        let token = secret::random_token(TOKEN_PREFIX, &*self.random);
        let session = Session {
            id: SessionId(time_ordered_id(&*self.random, now)),
            account: account.id,
            created_at: now,
            expires_at: now
                .saturating_add(self.settings.session_lifetime)
                .unwrap_or(Timestamp::MAX),
            agent: session::described(agent),
        };
        let digest = SessionDigest::of(&token);
        let new = NewSession { session: session.clone(), digest, epoch: account.epoch, kind };
        let began = self.sessions.begin(new).await?;
        Ok(began.then_some(FreshSession { token, signed_in: SignedIn { session, account } }))
    }
}

pub(super) const NO_ACCOUNT: Error = Error::not_found("there is no such account");
