//! The first admin of a server.

use subtle::ConstantTimeEq;

use super::{
    Account, AccountChange, AccountEventKind, AccountId, Accounts, Role, SignUp, SignedIn,
    sign_up::TAKEN,
};
use crate::{
    Error, Result,
    secret::{self, SecretText},
    security::{self, SecurityEventKind},
};

/// The prefix of every setup code.
pub(super) const SETUP_PREFIX: &str = "setup_";

impl Accounts {
    /// Returns the code with which the first admin is made. It is valid in this process only, and only while no
    /// account is an admin.
    pub fn setup_code(&self) -> &SecretText {
        &self.setup_code
    }

    /// Whether no account is an admin.
    pub async fn needs_admin(&self) -> Result<bool> {
        Ok(!self.ports.store.has_admin().await?)
    }

    /// Creates an account, also where sign-up is closed, and makes it the first admin. If another account becomes that
    /// at the same time, the new one stays a member.
    pub async fn set_up(&self, request: SignUp, code: &SecretText) -> Result<Account> {
        self.check_setup(code).await?;
        let made = self.add(request, None).await?.outcome.ok_or(TAKEN)?;
        self.make_first_admin(made.id).await
    }

    /// Makes the caller the first admin.
    pub async fn become_admin(&self, me: &SignedIn, code: &SecretText) -> Result<Account> {
        self.check_setup(code).await?;
        self.make_first_admin(me.account.id).await
    }

    async fn check_setup(&self, code: &SecretText) -> Result<()> {
        if !self.needs_admin().await? {
            return Err(HAS_ADMIN);
        }
        let [typed, right] =
            [code, &self.setup_code].map(|code| secret::token_digest(code.reveal()));
        if typed.ct_eq(&right).into() {
            return Ok(());
        }
        security::record(SecurityEventKind::SetupRefused, None, "");
        Err(WRONG_CODE)
    }

    /// Of several calls at once one succeeds: the store checks the condition in the transaction of the change.
    async fn make_first_admin(&self, account: AccountId) -> Result<Account> {
        let change = AccountChange {
            role: Some(Role::Admin),
            without_admin: true,
            ..AccountChange::default()
        };
        let event = self.by_owner(account, AccountEventKind::RoleChanged);
        let made = self.ports.store.change(change, event.clone()).await?.ok_or(HAS_ADMIN)?;
        event.record("the first admin");
        Ok(made)
    }
}

const HAS_ADMIN: Error = Error::gone("this server already has an admin");
const WRONG_CODE: Error = Error::forbidden("this is not the setup code of this server");
