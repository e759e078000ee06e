//! Calls of staff and of the operator on other accounts. `by` is the account of the staff member, `None` the operator.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::{
    Account, AccountChange, AccountEvent, AccountEventKind, AccountId, AccountQuery, Accounts,
    Actor, Email, EndSessions, NewAccount, NewPassword, Nickname, PictureId, Reset, Role, Username,
    sign_up::TAKEN,
};
use crate::{
    Error, Result,
    password_hasher::PasswordOf,
    passwords::PasswordHash,
    secret::{self, SecretText},
    security::{self, SecurityEventKind},
};

/// The lifetime of a one-time code, the longest that OWASP ASVS 5.0 allows (V6.5.5).
const RESET_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The prefix of every one-time code.
const RESET_PREFIX: &str = "reset_";

/// Accounts whose sessions are ended at the same time when all are.
const SIGNED_OUT_AT_ONCE: usize = 100;

/// The maximum events in one reply, the newest.
const EVENTS_TOLD: usize = 1_000;

/// An account to import, as a line of CSV.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportAccount {
    /// The username.
    pub username: String,
    /// The display name; the username if empty.
    #[serde(default)]
    pub nickname: String,
    /// The e-mail address; may be empty.
    #[serde(default)]
    pub email: String,
    /// The argon2id or bcrypt hash of the password; empty for an account without one.
    #[serde(default)]
    pub password_hash: SecretText,
    /// `member` (the default if empty), `moderator` or `admin`.
    #[serde(default)]
    pub role: String,
}

impl ImportAccount {
    /// Returns the account that the line describes, created at `now`.
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

/// Returns the trimmed field, unless it is empty.
fn given(field: &str) -> Option<&str> {
    Some(field.trim()).filter(|text| !text.is_empty())
}

/// An event of an account with the name of the staff member.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventWithStaff {
    /// The event.
    pub event: AccountEvent,
    /// The staff member who caused it, if one did whose account still exists.
    pub staff: Option<Username>,
}

impl Accounts {
    /// Creates an account with a role; also where sign-up is closed.
    pub async fn create(
        &self,
        username: Username,
        password: NewPassword,
        role: Role,
    ) -> Result<Account> {
        let password = self.hash_new(PasswordOf::Client(None), "password", password).await?;
        let account = NewAccount::new(username, Some(password), self.ports.clock.now());
        let account = NewAccount { role, ..account };
        let made = self.ports.store.add(account, None).await?.outcome.ok_or(TAKEN)?;
        security::record(SecurityEventKind::AccountCreated, Some(made.id), role.name());
        Ok(made)
    }

    /// Imports accounts; returns for each line whether its name was free, or its error.
    pub async fn import(&self, lines: &[ImportAccount]) -> Result<Vec<Result<bool>>> {
        let now = self.ports.clock.now();
        let mut outcomes: Vec<_> = lines.iter().map(|line| line.parse(now)).collect();
        let parsed = outcomes.iter().filter_map(|line| line.as_ref().ok().cloned()).collect();
        let added = self.ports.store.add_many(parsed).await?;
        let new = added.iter().filter(|is_new| **is_new).count();
        security::record(SecurityEventKind::AccountsImported, None, new.to_string());
        let mut added = added.into_iter();
        let told = outcomes.drain(..).map(|line| line.map(|_| added.next().unwrap_or_default()));
        Ok(told.collect())
    }

    /// Returns a page of accounts, ordered by username.
    pub async fn list(&self, query: AccountQuery) -> Result<Vec<Account>> {
        self.ports.store.list(query).await
    }

    /// Returns an account's events, newest first.
    pub async fn events(&self, name: &Username) -> Result<Vec<EventWithStaff>> {
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
        let staff = |event: &AccountEvent| match event.by {
            Actor::Staff(id) => names.get(&id).cloned().flatten(),
            Actor::Owner | Actor::Operator => None,
        };
        Ok(events.into_iter().map(|event| EventWithStaff { staff: staff(&event), event }).collect())
    }

    /// Changes an account's role.
    pub async fn set_role(
        &self,
        account: &Account,
        role: Role,
        by: Option<&Account>,
    ) -> Result<Account> {
        let change = AccountChange { role: Some(role), ..AccountChange::default() };
        self.change_others(account, change, AccountEventKind::RoleChanged, by).await
    }

    /// Bans an account and ends all its sessions.
    pub async fn ban(&self, account: &Account, by: Option<&Account>) -> Result<Account> {
        let change = AccountChange {
            banned_at: Some(Some(self.ports.clock.now())),
            ending: Some(EndSessions::All),
            ..AccountChange::default()
        };
        self.change_others(account, change, AccountEventKind::Banned, by).await
    }

    /// Lifts a ban.
    pub async fn unban(&self, account: &Account, by: Option<&Account>) -> Result<Account> {
        let change = AccountChange { banned_at: Some(None), ..AccountChange::default() };
        self.change_others(account, change, AccountEventKind::Unbanned, by).await
    }

    /// Ends all sessions of an account.
    pub async fn end_sessions(&self, account: &Account, by: Option<&Account>) -> Result<Account> {
        let change = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
        self.change_others(account, change, AccountEventKind::SignedOutEverywhere, by).await
    }

    /// Ends all sessions of all accounts, on behalf of the operator; returns the number of accounts that had any.
    pub async fn sign_out_all(&self) -> Result<u64> {
        let mut accounts = 0;
        let outcome = self.end_all(&mut accounts).await;
        // One for all: as many as there are accounts would displace all others.
        let kind = SecurityEventKind::OperatorCommand;
        security::record(kind, None, format!("sign-out of {accounts} accounts"));
        outcome.map(|()| accounts)
    }

    /// Counts in `accounts`, also if it fails.
    async fn end_all(&self, accounts: &mut u64) -> Result<()> {
        let change = AccountChange { ending: Some(EndSessions::All), ..AccountChange::default() };
        let end = |account| {
            let kind = AccountEventKind::SignedOutEverywhere;
            self.ports.store.change(change.clone(), self.event(account, kind, Actor::Operator))
        };
        let (now, mut after) = (self.ports.clock.now(), AccountId(0));
        loop {
            let page = self.ports.sessions.accounts(after, now, SIGNED_OUT_AT_ONCE).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = *last;
            let ended = try_join_all(page.into_iter().map(end)).await?;
            *accounts += ended.into_iter().flatten().count() as u64;
        }
    }

    /// Removes an account's picture; returns the account and the previous picture.
    pub async fn take_picture(
        &self,
        account: &Account,
        by: Option<&Account>,
    ) -> Result<(Account, Option<PictureId>)> {
        let change = with_roles(AccountChange::default(), account, by);
        self.replace_picture(account.id, None, change, actor(by)).await
    }

    /// Issues a code with which the owner can set a new password, once, and ends all sessions of the account. The
    /// code cannot be retrieved later.
    pub async fn issue_reset(&self, account: &Account, by: Option<&Account>) -> Result<SecretText> {
        let code = secret::random_token(RESET_PREFIX, &*self.ports.random);
        let (digest, expires_at) = (secret::token_digest(&code), self.expiry(RESET_LIFETIME));
        let change = AccountChange {
            reset: Some(Some(Reset { digest, expires_at })),
            ending: Some(EndSessions::All),
            ..AccountChange::default()
        };
        self.change_others(account, change, AccountEventKind::ResetIssued, by).await?;
        Ok(code.into())
    }

    /// Sets a new password with a code, ends all sessions, and unlinks all providers: a previous intruder may have
    /// linked an identity. Wrong codes are not counted: a code of 256 bits cannot be guessed, and a counter would
    /// let an attacker lock the owner out by guessing.
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
        let id = account.as_ref().map(|account| account.id);
        let Some(account) = account.filter(|_| is_right) else {
            security::record(SecurityEventKind::PasswordResetFailed, id, "");
            return Err(NO_CODE);
        };
        let event = self.by_owner(account.id, AccountEventKind::PasswordReset);
        let change = AccountChange {
            password: Some(self.hash_new(PasswordOf::Client(None), "new", new).await?),
            // Only this change clears the code: another holder of the password must not take it from the owner.
            reset: Some(None),
            ending: Some(EndSessions::All),
            unlinks_all: true,
            at_epoch: Some(account.epoch),
            ..AccountChange::default()
        };
        // At another epoch the code was used or replaced.
        self.ports.store.change(change, event.clone()).await?.ok_or(NO_CODE)?;
        event.record("");
        Ok(())
    }

    /// Changes an account, if its role and that of the staff member are those that were read.
    async fn change_others(
        &self,
        account: &Account,
        change: AccountChange,
        kind: AccountEventKind,
        by: Option<&Account>,
    ) -> Result<Account> {
        let change = with_roles(change, account, by);
        let event = self.event(account.id, kind, actor(by));
        let role = change.role.map_or("", Role::name);
        let changed = self.ports.store.change(change, event.clone()).await?.ok_or(CHANGED)?;
        event.record(role);
        Ok(changed)
    }
}

fn actor(by: Option<&Account>) -> Actor {
    by.map_or(Actor::Operator, |staff| Actor::Staff(staff.id))
}

/// Adds the conditions that both accounts have the roles that were read.
fn with_roles(change: AccountChange, account: &Account, by: Option<&Account>) -> AccountChange {
    AccountChange { had_role: Some(account.role), staff_role: by.map(|staff| staff.role), ..change }
}

const CHANGED: Error =
    Error::conflict("this account has been changed by another request; read it again and retry");
const NO_CODE: Error =
    Error::forbidden("this code does not match the username, or it was used or has expired");
