//! Calls of a signed-in account on itself.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    Account, AccountChange, AccountEvent, AccountEventKind, AccountId, Accounts, Actor, Email,
    EndSessions, FreshSession, LinkedIdentity, NewPassword, Nickname, PictureId, Session,
    SessionDigest, SessionId, SignedIn,
    provider_login::CHANGED,
    service::{ENDED, NO_ACCOUNT},
};
use crate::{
    Error, Result,
    failures::Counted,
    password_hasher::PasswordOf,
    passwords::Password,
    patch,
    pictures::PICTURES_PER_CALL_MAX,
    security::{self, SecurityActor, SecurityEventKind},
};

/// The maximum sessions in a list.
const SESSIONS_LISTED: usize = 100;

/// The maximum events in an export.
const EVENTS_EXPORTED: usize = 10_000;

/// The maximum accounts in one call that asks which of them exist.
pub const ACCOUNTS_PER_CALL_MAX: usize = 500;

/// The attempts to set a picture that other requests change at the same time.
const PICTURE_TRIES: usize = 5;

/// A change to the caller's profile; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ProfileChange {
    /// The display name.
    pub nickname: Option<Nickname>,
    /// The e-mail address; `Some(None)` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "patch::present")]
    pub email: Option<Option<Email>>,
    /// The current password, if the account has one; required to change the e-mail address.
    #[serde(default)]
    pub current: Option<Password>,
    /// The client's address, for rate limits.
    #[serde(default)]
    pub from: Option<IpAddr>,
}

/// All data stored about an account.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Export {
    /// The account.
    pub account: Account,
    /// The sessions, newest first.
    pub sessions: Vec<Session>,
    /// The account's events, newest first.
    pub events: Vec<AccountEvent>,
    /// The linked identities.
    #[serde(default)]
    pub identities: Vec<LinkedIdentity>,
}

impl Accounts {
    /// Changes the nickname or the e-mail address. A new address requires reauthentication.
    pub async fn edit(&self, me: &SignedIn, edit: ProfileChange) -> Result<Account> {
        let ProfileChange { nickname, email, current, from } = edit;
        let email = email.filter(|email| *email != me.account.email);
        if nickname.is_none() && email.is_none() {
            return self.account(me.account.id).await;
        }
        let changes_email = email.is_some();
        if changes_email {
            self.reauthenticate(me, current, from).await?;
        }
        let change = AccountChange { nickname, email, ..AccountChange::default() };
        let changed = self.change_own(me, change, AccountEventKind::Edited).await?;
        if changes_email && changed.is_some() {
            let (kind, id) = (SecurityEventKind::EmailChanged, me.account.id);
            security::record_by(SecurityActor::Account(id), kind, Some(id), "");
        }
        changed.ok_or(NO_ACCOUNT)
    }

    /// Changes the password, ends all sessions, and begins a new one in place of the caller's. Requires
    /// reauthentication.
    pub async fn change_password(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        new: NewPassword,
        from: Option<IpAddr>,
    ) -> Result<FreshSession> {
        self.reauthenticate(me, current.clone(), from).await?;
        if current.is_some_and(|current| current.as_bytes() == new.as_bytes()) {
            return Err(Error::invalid("new", "must not be the current password"));
        }
        let change = AccountChange {
            password: Some(self.hash_new(PasswordOf::Account(me.account.id), "new", new).await?),
            ending: Some(EndSessions::All),
            at_epoch: Some(me.account.epoch),
            by_session: Some(me.session.id),
            ..AccountChange::default()
        };
        let changed = self.change_own(me, change, AccountEventKind::PasswordChanged).await?;
        let account = changed.ok_or(CHANGED)?;
        let (kind, now) = (AccountEventKind::SignedIn, self.ports.clock.now());
        let begun = self.begin(account, kind, &me.session.agent, Some(now)).await?;
        begun.ok_or(CHANGED)
    }

    /// Reauthenticates the caller: requires the current password, or for an account without one a recent authentication
    /// at a provider. A session alone is not enough: a stolen one would give permanent access, or could destroy the
    /// account's data.
    pub(super) async fn reauthenticate(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        let (account, credential) = self.ports.store.get(me.account.id).await?.ok_or(NO_ACCOUNT)?;
        if credential.password.is_none() {
            let is_recent = me.session.is_recent(self.ports.clock.now());
            return if is_recent { Ok(()) } else { Err(NOT_RECENT) };
        }
        let Some(current) = current else {
            return Err(Error::invalid(
                "current",
                "is missing; it must be the account's current password",
            ));
        };
        // Counted apart from sign-ins, so that others who lock the name do not keep its owner from a new password.
        let name = format!("{} in {}", account.username, me.session.id.0);
        let now = self.ports.clock.now();
        let counted = Counted::one(&*self.ports.failures, &name, from, now).await;
        if matches!(counted, Err(Error::TooMany { .. })) {
            security::record(SecurityEventKind::LockedOut, Some(account.id), "");
        }
        let (counted, of) = (counted?, PasswordOf::Account(me.account.id));
        let is_right = self.verified(of, current, credential.password).await;
        counted.settle(&is_right).await;
        if is_right? {
            return Ok(());
        }
        security::record(SecurityEventKind::ReauthenticationFailed, Some(account.id), "");
        Err(NOT_IT)
    }

    /// Returns the caller's sessions, newest first.
    pub async fn sessions(&self, me: &SignedIn) -> Result<Vec<Session>> {
        self.ports.sessions.list(me.account.id, self.ports.clock.now(), SESSIONS_LISTED).await
    }

    /// Replaces the token of a session, which goes on.
    pub async fn renew_token(&self, session: SessionDigest) -> Result<FreshSession> {
        let me = self.who(session).await?;
        let token = self.new_token();
        let (digest, now) = (SessionDigest::of(&token), self.ports.clock.now());
        let account = me.account.id;
        if !self.ports.sessions.replace_token(account, session, digest, now).await? {
            return Err(ENDED);
        }
        Ok(self.fresh(token, me))
    }

    /// Ends the current session.
    pub async fn sign_out(&self, me: &SignedIn) -> Result<()> {
        self.end(me, me.session.id).await
    }

    /// Ends one of the caller's sessions. Requires reauthentication, unless it is the current one.
    pub async fn end_session(
        &self,
        me: &SignedIn,
        session: SessionId,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        if session != me.session.id {
            self.reauthenticate(me, current, from).await?;
        }
        self.end(me, session).await
    }

    async fn end(&self, me: &SignedIn, session: SessionId) -> Result<()> {
        let ended = self.ports.sessions.end(me.account.id, session, self.ports.clock.now()).await?;
        if ended { Ok(()) } else { Err(Error::not_found("there is no such session")) }
    }

    /// Ends all of the caller's sessions, including the current one. Requires reauthentication.
    pub async fn sign_out_everywhere(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        self.reauthenticate(me, current, from).await?;
        let change = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
        let changed = self.change_own(me, change, AccountEventKind::SignedOutEverywhere).await?;
        changed.map(drop).ok_or(NO_ACCOUNT)
    }

    /// Deletes the caller's account and returns its picture. The username stays reserved for a while. Requires
    /// reauthentication.
    pub async fn delete(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<Option<PictureId>> {
        self.reauthenticate(me, current, from).await?;
        let event = self.by_owner(me.account.id, AccountEventKind::Deleted);
        let removed = self.ports.store.remove(event.clone()).await?.ok_or(NO_ACCOUNT)?;
        event.record("");
        Ok(removed.picture)
    }

    /// Sets or removes the caller's picture; returns the account and the previous picture.
    pub async fn set_picture(
        &self,
        me: &SignedIn,
        picture: Option<PictureId>,
    ) -> Result<(Account, Option<PictureId>)> {
        self.replace_picture(me.account.id, picture, AccountChange::default(), Actor::Owner).await
    }

    /// The same on behalf of `by`, if the conditions of `change` hold.
    pub(super) async fn replace_picture(
        &self,
        id: AccountId,
        picture: Option<PictureId>,
        change: AccountChange,
        by: Actor,
    ) -> Result<(Account, Option<PictureId>)> {
        for _ in 0..PICTURE_TRIES {
            let account = self.account(id).await?;
            let former = account.picture;
            if former == picture {
                return Ok((account, former));
            }
            let change = AccountChange {
                picture: Some(picture),
                had_picture: Some(former),
                ..change.clone()
            };
            let event = self.event(id, AccountEventKind::PictureChanged, by);
            if let Some(account) = self.ports.store.change(change, event.clone()).await? {
                event.record("");
                return Ok((account, former));
            }
        }
        Err(Error::conflict("the picture is being changed by another request; try again"))
    }

    /// Returns those of `pictures` that an account has.
    pub(super) async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        if pictures.len() > PICTURES_PER_CALL_MAX {
            return Err(Error::invalid(
                "pictures",
                format!("must be at most {PICTURES_PER_CALL_MAX}"),
            ));
        }
        self.ports.store.pictured(pictures).await
    }

    /// Returns those of `accounts` that exist.
    pub(super) async fn existing(&self, accounts: Vec<AccountId>) -> Result<Vec<AccountId>> {
        if accounts.len() > ACCOUNTS_PER_CALL_MAX {
            return Err(Error::invalid(
                "accounts",
                format!("must be at most {ACCOUNTS_PER_CALL_MAX}"),
            ));
        }
        let mut existing = Vec::new();
        for id in accounts {
            if self.ports.store.get(id).await?.is_some() {
                existing.push(id);
            }
        }
        Ok(existing)
    }

    /// Returns all data stored about the caller.
    pub async fn export(&self, me: &SignedIn) -> Result<Export> {
        Ok(Export {
            account: self.account(me.account.id).await?,
            sessions: self.sessions(me).await?,
            events: self.ports.store.events(me.account.id, EVENTS_EXPORTED).await?,
            identities: self.identities(me).await?,
        })
    }

    async fn change_own(
        &self,
        me: &SignedIn,
        change: AccountChange,
        kind: AccountEventKind,
    ) -> Result<Option<Account>> {
        let event = self.by_owner(me.account.id, kind);
        let changed = self.ports.store.change(change, event.clone()).await?;
        if changed.is_some() {
            event.record("");
        }
        Ok(changed)
    }
}

const NOT_RECENT: Error = Error::forbidden("sign in again with your provider first");
const NOT_IT: Error = Error::forbidden("this is not your current password");
