//! What somebody who is signed in can do with their own account.

use std::net::IpAddr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountChange, AccountId, Accounts, Actor, Email, Ending, Event, EventKind,
    LinkedIdentity, NewPassword, Nickname, PictureId, Role, Session, SessionId, SignedIn,
    by_provider::CHANGED, failures::Counted, service::NO_ACCOUNT,
};
use crate::{Error, Result, passwords::Password, patch, pictures::PICTURES_ASKED};

/// How old a session may be in which somebody without a password does what others say theirs for.
const FRESH: SignedDuration = SignedDuration::from_mins(10);

/// Sessions that are listed.
const SESSIONS_LISTED: usize = 100;

/// Events that an export holds.
const EVENTS_EXPORTED: usize = 10_000;

/// Accounts that can be asked for at once, whether they are there.
pub const ACCOUNTS_ASKED: usize = 500;

/// Tries to set a picture while it is being changed elsewhere.
const PICTURE_TRIES: usize = 5;

/// What to change about oneself; what is absent stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Edit {
    /// What others see.
    pub nickname: Option<Nickname>,
    /// Where one may be written to.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "patch::present")]
    pub email: Option<Option<Email>>,
}

/// All that is kept about somebody.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Export {
    /// Their account.
    pub account: Account,
    /// Where they are signed in.
    pub sessions: Vec<Session>,
    /// What happened to the account, newest first.
    pub events: Vec<Event>,
    /// By whom the account is opened whom a provider knows.
    #[serde(default)]
    pub identities: Vec<LinkedIdentity>,
}

impl Accounts {
    /// Changes one's nickname or address.
    pub async fn edit(&self, me: &SignedIn, edit: Edit) -> Result<Account> {
        let Edit { nickname, email } = edit;
        if nickname.is_none() && email.is_none() {
            return self.account(me.account.id).await;
        }
        let change = AccountChange { nickname, email, ..AccountChange::default() };
        self.change_own(me, change, EventKind::Edited).await?.ok_or(NO_ACCOUNT)
    }

    /// Changes one's password, which ends all other sessions. Who has a password must say it; who has none must
    /// have signed in just now.
    pub async fn change_password(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        new: NewPassword,
        from: Option<IpAddr>,
    ) -> Result<Account> {
        self.said_again(me, current, from).await?;
        let change = AccountChange {
            password: Some(self.ports.passwords.hash(new.into_password()).await?),
            ending: Some(Ending::AllBut(me.session.id)),
            at_epoch: Some(me.account.epoch),
            by_session: Some(me.session.id),
            ..AccountChange::default()
        };
        self.change_own(me, change, EventKind::PasswordChanged).await?.ok_or(CHANGED)
    }

    /// Refused unless somebody has said their password once more; who has none must have begun the session
    /// just now. A session alone does not do, or whoever has found one would have a way in that stays, or
    /// could destroy what is not theirs.
    pub(super) async fn said_again(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        let (account, credential) = self.ports.store.get(me.account.id).await?.ok_or(NO_ACCOUNT)?;
        if credential.password.is_none() {
            let age = self.ports.clock.now().duration_since(me.session.created_at);
            return if age > FRESH { Err(NOT_FRESH) } else { Ok(()) };
        }
        let Some(current) = current else {
            return Err(Error::invalid("current", "must be your current password"));
        };
        let (name, now) = (account.username.as_str(), self.ports.clock.now());
        let counted = Counted::one(&*self.ports.failures, name, from, now).await?;
        let is_right = self.verified(current, credential.password).await;
        counted.settle(&is_right).await;
        if is_right? { Ok(()) } else { Err(NOT_IT) }
    }

    /// Where one is signed in, newest first.
    pub async fn sessions(&self, me: &SignedIn) -> Result<Vec<Session>> {
        self.ports.sessions.list(me.account.id, self.ports.clock.now(), SESSIONS_LISTED).await
    }

    /// Ends one of one's own sessions, this one perhaps.
    pub async fn sign_out(&self, me: &SignedIn, session: SessionId) -> Result<()> {
        let ended = self.ports.sessions.end(me.account.id, session, self.ports.clock.now()).await?;
        if ended { Ok(()) } else { Err(Error::not_found("there is no such session")) }
    }

    /// Ends all of one's sessions, this one too.
    pub async fn sign_out_everywhere(&self, me: &SignedIn) -> Result<()> {
        let change = AccountChange { ending: Some(Ending::All), ..AccountChange::default() };
        let changed = self.change_own(me, change, EventKind::SignedOutEverywhere).await?;
        changed.map(drop).ok_or(NO_ACCOUNT)
    }

    /// Deletes one's account; the picture that it had. Its name is nobody's for a while. Who has a password
    /// must say it; who has none must have signed in just now.
    pub async fn delete(
        &self,
        me: &SignedIn,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<Option<PictureId>> {
        self.said_again(me, current, from).await?;
        let event = self.by_owner(me.account.id, EventKind::Deleted);
        self.ports.store.remove(event).await?.map(|account| account.picture).ok_or(NO_ACCOUNT)
    }

    /// Sets one's picture, or takes it away; the account, and the picture that it had before.
    pub async fn set_picture(
        &self,
        me: &SignedIn,
        picture: Option<PictureId>,
    ) -> Result<(Account, Option<PictureId>)> {
        self.replace_picture(me.account.id, picture, None, Actor::Owner).await
    }

    /// The same by whoever may, if the account's role is `had_role`.
    pub(super) async fn replace_picture(
        &self,
        id: AccountId,
        picture: Option<PictureId>,
        had_role: Option<Role>,
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
                had_role,
                ..AccountChange::default()
            };
            let event = self.event(id, EventKind::PictureChanged, by);
            if let Some(account) = self.ports.store.change(change, event).await? {
                return Ok((account, former));
            }
        }
        Err(Error::conflict("the picture is being changed elsewhere at the same time"))
    }

    /// Those of these pictures that are somebody's.
    pub(super) async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        if pictures.len() > PICTURES_ASKED {
            return Err(Error::invalid("pictures", "are more than are asked for at once"));
        }
        self.ports.store.pictured(pictures).await
    }

    /// Those of these accounts that are there.
    pub(super) async fn existing(&self, accounts: Vec<AccountId>) -> Result<Vec<AccountId>> {
        if accounts.len() > ACCOUNTS_ASKED {
            return Err(Error::invalid("accounts", "are more than are asked for at once"));
        }
        let mut existing = Vec::new();
        for id in accounts {
            if self.ports.store.get(id).await?.is_some() {
                existing.push(id);
            }
        }
        Ok(existing)
    }

    /// All that is kept about oneself.
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
        kind: EventKind,
    ) -> Result<Option<Account>> {
        self.ports.store.change(change, self.by_owner(me.account.id, kind)).await
    }
}

const NOT_FRESH: Error = Error::forbidden("sign in again by your provider first");
const NOT_IT: Error = Error::forbidden("this is not your current password");
