//! Sign-up and sign-in with a provider (`OpenID` Connect).

use std::net::IpAddr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{
    AccountEventKind, Accounts, AuthorizationRequest, AuthorizationSecrets, CodeExchange,
    FreshSession, Identity, Linked, LinkedIdentity, LoginCallback, LoginRedirect, NewAccount,
    NewTicket, Provider, ProviderName, ProviderUser, Redeemed, SessionDigest, SessionId, SignedIn,
    TicketDigest, Unlink, Unlinked, Username, authorization_state::AuthorizationState,
    sign_in::BANNED, sign_up::TAKEN,
};
use crate::{
    Error, Result,
    passwords::Password,
    secret,
    security::{self, SecurityEventKind},
};

/// How long a ticket for a provider sign-up is valid.
pub const TICKET_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// The prefix of every ticket.
const TICKET_PREFIX: &str = "ticket_";

/// The result of a sign-in with a provider.
#[derive(derive_more::Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginOutcome {
    /// The identity has an account, which is signed in.
    SignedIn {
        /// The new session.
        fresh: Box<FreshSession>,
        /// The path to continue at, as given when the sign-in began; may be empty.
        #[debug(skip)]
        next: String,
    },
    /// The identity has no account; the user may create one.
    #[debug("SignUp(…)")]
    SignUp {
        /// The ticket to create it with, valid for 15 minutes.
        ticket: String,
        /// A free username like the user's name at the provider.
        suggested: Option<Username>,
        /// See [`LoginOutcome::SignedIn`].
        next: String,
    },
    /// The identity is now linked to the signed-in account.
    Linked,
}

/// A sign-up by a provider: an identity without an account, and the account to create for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProviderSignUp {
    /// The digest of the ticket, which proves the identity.
    pub ticket: TicketDigest,
    /// The username of the new account.
    pub username: Username,
    /// The `User-Agent`.
    pub agent: String,
}

impl Accounts {
    /// Returns the configured providers.
    pub fn providers(&self) -> Vec<Provider> {
        self.ports.providers.list().to_vec()
    }

    /// Begins a sign-in with `provider`, which redirects back to `redirect_uri`; the user then continues at `next`. To
    /// `reauthenticate`, the provider must not rely on an earlier sign-in.
    pub async fn begin_login(
        &self,
        provider: ProviderName,
        redirect_uri: String,
        next: String,
        reauthenticate: bool,
    ) -> Result<LoginRedirect> {
        let state = self.authorization(provider, redirect_uri);
        let authenticated_since = reauthenticate.then(|| self.ports.clock.now());
        let login = AuthorizationState { next, authenticated_since, ..state };
        self.begin_authorization(login).await
    }

    /// Begins linking an identity of `provider` to the signed-in account, after reauthentication: the current
    /// password, or for an account without one a recent sign-in at a provider.
    pub async fn begin_link(
        &self,
        me: &SignedIn,
        provider: ProviderName,
        redirect_uri: String,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<LoginRedirect> {
        self.reauthenticate(me, current, from).await?;
        let state = self.authorization(provider, redirect_uri);
        let linking = Some(me.session.id);
        self.begin_authorization(AuthorizationState { linking, ..state }).await
    }

    /// Returns the state of a new sign-in.
    fn authorization(&self, provider: ProviderName, redirect_uri: String) -> AuthorizationState {
        AuthorizationState {
            provider,
            redirect_uri,
            flow: AuthorizationSecrets::new(&*self.ports.random),
            linking: None,
            next: String::new(),
            authenticated_since: None,
        }
    }

    async fn begin_authorization(
        &self,
        authorization: AuthorizationState,
    ) -> Result<LoginRedirect> {
        let AuthorizationState { provider, redirect_uri, flow, authenticated_since, .. } =
            &authorization;
        let reauthenticate = authenticated_since.is_some();
        let request = AuthorizationRequest { provider, redirect_uri, flow, reauthenticate };
        let url = self.ports.providers.authorization_url(request).await?;
        let kept = authorization.seal(&self.ports.secret, self.ports.clock.now())?;
        Ok(LoginRedirect { url, kept })
    }

    /// Completes a sign-in with the provider's callback and the session of the browser. An e-mail address never
    /// selects the account: it is not an identity.
    pub async fn complete_login(
        &self,
        callback: LoginCallback,
        agent: &str,
        session: Option<SessionDigest>,
    ) -> Result<LoginOutcome> {
        let LoginCallback { provider, kept, state, code, error, issuer } = callback;
        let authorization =
            AuthorizationState::open(&self.ports.secret, &kept, self.ports.clock.now());
        let authorization =
            authorization.filter(|authorization| authorization.matches_callback(&provider, &state));
        let AuthorizationState { redirect_uri, flow, linking, next, authenticated_since, .. } =
            authorization.ok_or_else(|| {
                security::record(SecurityEventKind::LoginStateRefused, None, "");
                NOT_ASKED
            })?;
        if let Some(error) = error {
            return Err(declined(&error));
        }
        let code = code.filter(|code| !code.is_empty()).ok_or(NOT_ASKED)?;
        let exchange = CodeExchange { provider, code, issuer, redirect_uri, flow };
        if let Some(asked_in) = linking {
            let me = self.still_signed_in(session, asked_in).await?;
            let identity = self.ports.providers.identify(&exchange).await?.identity;
            return self.link(&me, identity).await.map(|()| LoginOutcome::Linked);
        }
        let ProviderUser { identity, called, authenticated } =
            self.ports.providers.identify(&exchange).await?;
        let authenticated_at = authenticated.at(authenticated_since, self.ports.clock.now())?;
        match self.ports.identities.find(&identity).await? {
            Some(account) if account.banned_at.is_some() => {
                security::record(SecurityEventKind::SignInFailed, Some(account.id), "banned");
                Err(BANNED)
            }
            Some(account) => {
                let kind = AccountEventKind::SignedInByProvider;
                let fresh = self.begin(account, kind, agent, authenticated_at).await?;
                fresh
                    .map(|fresh| LoginOutcome::SignedIn { fresh: Box::new(fresh), next })
                    .ok_or(CHANGED)
            }
            None => self.invite(identity, called, next).await,
        }
    }

    /// Returns the account signed in by `session`, if it is the session that began linking.
    async fn still_signed_in(
        &self,
        session: Option<SessionDigest>,
        asked_in: SessionId,
    ) -> Result<SignedIn> {
        let session = session.ok_or(ANOTHER_SESSION)?;
        let me = self.ports.sessions.find(session, self.ports.clock.now()).await?;
        me.filter(|me| me.session.id == asked_in).ok_or(ANOTHER_SESSION)
    }

    /// Issues a ticket for an identity without an account.
    async fn invite(
        &self,
        identity: Identity,
        called: Option<String>,
        next: String,
    ) -> Result<LoginOutcome> {
        self.is_open()?;
        let ticket = secret::random_token(TICKET_PREFIX, &*self.ports.random);
        let (digest, expires_at) = (TicketDigest::of(&ticket), self.expiry(TICKET_LIFETIME));
        self.ports.identities.issue(NewTicket { digest, identity, expires_at }).await?;
        let suggested = self.suggested(called).await?;
        Ok(LoginOutcome::SignUp { ticket, suggested, next })
    }

    /// Creates an account without a password for the holder of a ticket, and signs it in.
    pub async fn sign_up_with_provider(&self, sign_up: ProviderSignUp) -> Result<FreshSession> {
        self.is_open()?;
        let ProviderSignUp { ticket, username, agent } = sign_up;
        username.check_for_visitor()?;
        let account = NewAccount::new(username, None, self.ports.clock.now());
        match self.ports.identities.redeem(ticket, account).await? {
            Redeemed::Made(account) => {
                let made = self.by_owner(account.id, AccountEventKind::SignedUp);
                made.record("");
                // The provider may have relied on an earlier sign-in.
                let kind = AccountEventKind::SignedInByProvider;
                let fresh = self.begin(account, kind, &agent, None).await?;
                fresh.ok_or(CHANGED)
            }
            Redeemed::Taken => Err(TAKEN),
            Redeemed::Known => {
                Err(Error::gone("this identity already has an account; sign in again"))
            }
            Redeemed::NoTicket => {
                Err(Error::gone("your sign-in with the provider has expired; start again"))
            }
        }
    }

    /// Links an identity to the signed-in account.
    async fn link(&self, me: &SignedIn, identity: Identity) -> Result<()> {
        let event = self.by_owner(me.account.id, AccountEventKind::Linked);
        match self.ports.identities.link(identity, me.session.id, event.clone()).await? {
            Linked::Done => {
                event.record("");
                Ok(())
            }
            Linked::Elsewhere => {
                Err(Error::conflict("this identity is already linked to another account"))
            }
            Linked::Another => Err(Error::conflict(
                "another identity of this provider is already linked to your account",
            )),
            Linked::NoSession => Err(ANOTHER_SESSION),
        }
    }

    /// Unlinks the identity of an issuer and ends all other sessions, which may have been begun by it. The issuer's
    /// provider may be unconfigured by now. Requires reauthentication.
    pub async fn unlink(
        &self,
        me: &SignedIn,
        issuer: String,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        self.reauthenticate(me, current, from).await?;
        let set_up = self.ports.providers.list().iter();
        let unlink = Unlink {
            issuer,
            kept: me.session.id,
            issuers: set_up.map(|provider| provider.issuer.clone()).collect(),
        };
        let event = self.by_owner(me.account.id, AccountEventKind::Unlinked);
        match self.ports.identities.unlink(unlink, event.clone()).await? {
            Unlinked::Done => {
                event.record("");
                Ok(())
            }
            Unlinked::NotLinked => {
                Err(Error::not_found("this provider is not linked to your account"))
            }
            Unlinked::OnlyWay => Err(Error::conflict(
                "this is the only way to sign in to your account; set a password or link another provider first",
            )),
        }
    }

    /// Returns the identities linked to the signed-in account.
    pub async fn identities(&self, me: &SignedIn) -> Result<Vec<LinkedIdentity>> {
        self.ports.identities.list(me.account.id).await
    }

    /// Returns a free username like the name at the provider; for an e-mail address, its local part.
    async fn suggested(&self, called: Option<String>) -> Result<Option<Username>> {
        let called = called.unwrap_or_default();
        let plain = called.split('@').next().unwrap_or_default();
        let Ok(name) = Username::parse(plain) else { return Ok(None) };
        if name.check_for_visitor().is_err() {
            return Ok(None);
        }
        Ok(self.ports.store.find(&name).await?.is_none().then_some(name))
    }
}

/// Maps a provider's error code (RFC 6749, section 4.1.2.1). The provider's text is untrusted and not shown.
fn declined(error: &str) -> Error {
    match error {
        "access_denied" => {
            Error::forbidden("the provider denied access, or you cancelled the sign-in")
        }
        "temporarily_unavailable" | "server_error" => {
            Error::unavailable("the provider reports that it is temporarily unavailable")
        }
        _ => Error::forbidden("the provider refused the sign-in"),
    }
}

const NOT_ASKED: Error = Error::forbidden(
    "this sign-in was not started in this browser within the last ten minutes; start again",
);
const ANOTHER_SESSION: Error =
    Error::forbidden("the session that started this has ended; sign in and start again");

/// The account has changed between reading it and acting on what was read.
pub(super) const CHANGED: Error = Error::forbidden("this account has just changed; sign in again");
