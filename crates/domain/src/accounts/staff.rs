//! What those who keep order, and those who run the server, can do with others' accounts.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{
    Account, AccountChange, AccountQuery, Accounts, Actor, Email, Ending, Event, EventKind,
    NewAccount, NewPassword, Nickname, PictureId, Reset, Role, Username,
};
use crate::{
    Error, Result,
    passwords::PasswordHash,
    secret::{self, Hidden},
};

/// How long a one-time code opens something.
const RESET_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// What one-time codes start with.
const RESET_PREFIX: &str = "reset_";

/// Events that are told at once, the newest.
const EVENTS_TOLD: usize = 1_000;

/// An account from elsewhere, as a line of CSV.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportAccount {
    /// Its name.
    pub username: String,
    /// What others see; the name if empty.
    #[serde(default)]
    pub nickname: String,
    /// Where its owner may be written to.
    #[serde(default)]
    pub email: String,
    /// What its password becomes, by argon2 or bcrypt; empty: none.
    #[serde(default)]
    pub password_hash: Hidden,
    /// member (also if empty), moderator or admin.
    #[serde(default)]
    pub role: String,
}

impl ImportAccount {
    /// The account that the line describes, as made at `now`.
    pub fn parse(&self, now: Timestamp) -> Result<NewAccount> {
        let username = Username::parse(&self.username)?;
        let nickname = given(&self.nickname).map(Nickname::parse).transpose()?;
        let hash = given(self.password_hash.reveal());
        let hash = hash.map(|text| PasswordHash::parse("password_hash", text)).transpose()?;
        let account = NewAccount::new(username, hash, now);
        Ok(NewAccount {
            nickname: nickname.unwrap_or_else(|| account.nickname.clone()),
            email: given(&self.email).map(Email::parse).transpose()?,
            role: given(&self.role).map(Role::parse).transpose()?.unwrap_or_default(),
            ..account
        })
    }
}

/// What a field of a line holds, unless it is empty.
fn given(field: &str) -> Option<&str> {
    Some(field.trim()).filter(|text| !text.is_empty())
}

/// Something that happened to somebody's account.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ToldEvent {
    /// What, when, and by whom.
    pub event: Event,
    /// Who of the staff it was, if it was one of them who is still there.
    pub staff: Option<Username>,
}

impl Accounts {
    /// Makes an account of that role; one that is closed to the public makes them so.
    pub async fn create(
        &self,
        username: Username,
        password: NewPassword,
        role: Role,
    ) -> Result<Account> {
        let password = self.ports.passwords.hash(password.into_password()).await?;
        let account = NewAccount::new(username, Some(password), self.ports.clock.now());
        let account = NewAccount { role, ..account };
        let made = self.ports.store.add(account, None).await?.outcome;
        made.ok_or(Error::conflict("this name is taken"))
    }

    /// Makes accounts from elsewhere; what came of each line: whether its name was free.
    pub async fn import(&self, lines: &[ImportAccount]) -> Result<Vec<Result<bool>>> {
        let now = self.ports.clock.now();
        let mut outcomes: Vec<_> = lines.iter().map(|line| line.parse(now)).collect();
        let parsed = outcomes.iter().filter_map(|line| line.as_ref().ok().cloned()).collect();
        let mut added = self.ports.store.add_many(parsed).await?.into_iter();
        let told = outcomes.drain(..).map(|line| line.map(|_| added.next().unwrap_or_default()));
        Ok(told.collect())
    }

    /// Accounts in the order of their names.
    pub async fn list(&self, query: AccountQuery) -> Result<Vec<Account>> {
        self.ports.store.list(query).await
    }

    /// What happened to somebody's account, newest first.
    pub async fn events(&self, name: &Username) -> Result<Vec<ToldEvent>> {
        let account = self.user(name).await?;
        let events = self.ports.store.events(account.id, EVENTS_TOLD).await?;
        let mut names = HashMap::new();
        for event in &events {
            if let Actor::Staff(id) = event.by
                && !names.contains_key(&id)
            {
                let staff = self.ports.store.get(id).await?.map(|(staff, _)| staff.username);
                names.insert(id, staff);
            }
        }
        let staff = |event: &Event| match event.by {
            Actor::Staff(id) => names.get(&id).cloned().flatten(),
            Actor::Owner | Actor::Operator => None,
        };
        Ok(events.into_iter().map(|event| ToldEvent { staff: staff(&event), event }).collect())
    }

    /// Gives somebody a role.
    pub async fn set_role(&self, account: &Account, role: Role, by: Actor) -> Result<Account> {
        let change = AccountChange { role: Some(role), ..AccountChange::default() };
        self.change_others(account, change, EventKind::RoleChanged, by).await
    }

    /// Bans somebody, which ends all their sessions.
    pub async fn ban(&self, account: &Account, by: Actor) -> Result<Account> {
        let change = AccountChange {
            banned_at: Some(Some(self.ports.clock.now())),
            ending: Some(Ending::All),
            ..AccountChange::default()
        };
        self.change_others(account, change, EventKind::Banned, by).await
    }

    /// Lifts a ban.
    pub async fn unban(&self, account: &Account, by: Actor) -> Result<Account> {
        let change = AccountChange { banned_at: Some(None), ..AccountChange::default() };
        self.change_others(account, change, EventKind::Unbanned, by).await
    }

    /// Takes somebody's picture away; the account, and the picture that it had.
    pub async fn take_picture(
        &self,
        account: &Account,
        by: Actor,
    ) -> Result<(Account, Option<PictureId>)> {
        self.replace_picture(account.id, None, Some(account.role), by).await
    }

    /// Gives out a code with which its owner can set a new password, once; the account's sessions end at
    /// once. The code cannot be had again.
    pub async fn issue_reset(&self, account: &Account, by: Actor) -> Result<Hidden> {
        let code = secret::random_token(RESET_PREFIX, &*self.ports.random);
        let (digest, expires_at) = (secret::token_digest(&code), self.expiry(RESET_LIFETIME));
        let change = AccountChange {
            reset: Some(Some(Reset { digest, expires_at })),
            ending: Some(Ending::All),
            ..AccountChange::default()
        };
        self.change_others(account, change, EventKind::ResetIssued, by).await?;
        Ok(code.into())
    }

    /// Sets a new password with a code; all sessions end, and no provider opens the account any more: whoever
    /// had it before may have linked one of theirs. Nobody guesses a code of 256 bits, so none is counted: else
    /// whoever keeps a name locked by guessing its password would keep its owner from it.
    pub async fn reset_password(
        &self,
        name: &Username,
        code: &str,
        new: NewPassword,
    ) -> Result<()> {
        let now = self.ports.clock.now();
        let (account, credential) = self.ports.store.find(name).await?.unzip();
        let digest = secret::token_digest(code);
        let is_right =
            |reset: &Reset| bool::from(reset.digest.ct_eq(&digest)) && now < reset.expires_at;
        let is_right = credential.and_then(|known| known.reset).as_ref().is_some_and(is_right);
        let account = account.filter(|_| is_right).ok_or(NO_CODE)?;
        let event = self.by_owner(account.id, EventKind::PasswordReset);
        let change = AccountChange {
            password: Some(self.ports.passwords.hash(new.into_password()).await?),
            // By this change alone: whoever else knows the password must not take the code from its owner.
            reset: Some(None),
            ending: Some(Ending::All),
            unlinks_all: true,
            at_epoch: Some(account.epoch),
            ..AccountChange::default()
        };
        // At another epoch, the code was used, or another one given out.
        self.ports.store.change(change, event).await?.map(drop).ok_or(NO_CODE)
    }

    /// Changes an account, if its role is still the one with which it was read.
    async fn change_others(
        &self,
        account: &Account,
        change: AccountChange,
        kind: EventKind,
        by: Actor,
    ) -> Result<Account> {
        let change = AccountChange { had_role: Some(account.role), ..change };
        self.ports.store.change(change, self.event(account.id, kind, by)).await?.ok_or(CHANGED)
    }
}

const CHANGED: Error =
    Error::conflict("this account has just been changed by somebody else; look at it again");
const NO_CODE: Error =
    Error::forbidden("this code does not fit the name, or opens nothing any more");
