//! Commands of moderators and admins on other accounts.

use super::{
    Account, AccountQuery, Accounts, NamedSecurityEvent, PictureId, Role, SecurityEventFilter,
    SessionDigest, SignedIn, Username, client::calls,
};
use crate::{Error, Result, secret::SecretText};

/// The maximum accounts in one reply.
const LISTED_MAX: usize = 100;

calls! {
    client(session: SessionDigest) moderate;
    server(accounts, me: &SignedIn);

    /// A moderation command on accounts.
    pub enum ModerationCommand {
        /// Lists accounts, ordered by username.
        pub fn list = List(query: AccountQuery) -> Vec<Account> {
            me.account.check_role(Role::Moderator)?;
            let limit = query.limit.min(LISTED_MAX);
            accounts.list(AccountQuery { limit, ..query }).await?
        }

        /// Lists security events, newest first.
        pub fn security_events = SecurityEvents(filter: SecurityEventFilter) -> Vec<NamedSecurityEvent> {
            me.account.check_role(Role::Admin)?;
            accounts.security_events(filter).await?
        }

        /// Bans an account.
        pub fn ban = Ban(name: Username) -> Account {
            let account = accounts.account_below(me, Role::Moderator, &name).await?;
            accounts.ban(&account, Some(&me.account)).await?
        }

        /// Lifts a ban.
        pub fn unban = Unban(name: Username) -> Account {
            let account = accounts.account_below(me, Role::Moderator, &name).await?;
            accounts.unban(&account, Some(&me.account)).await?
        }

        /// Ends all sessions of an account.
        pub fn end_sessions = EndSessions(name: Username) -> Account {
            let account = accounts.account_below(me, Role::Moderator, &name).await?;
            accounts.end_sessions(&account, Some(&me.account)).await?
        }

        /// Changes an account's role.
        pub fn set_role = SetRole(name: Username, role: Role) -> Account {
            me.account.check_role(Role::Admin)?;
            not_oneself(me, &name)?;
            accounts.set_role(&accounts.user(&name).await?, role, Some(&me.account)).await?
        }

        /// Issues a one-time code with which the account's owner can set a new password.
        pub fn issue_reset = IssueReset(name: Username) -> SecretText {
            let account = accounts.account_below(me, Role::Admin, &name).await?;
            accounts.issue_reset(&account, Some(&me.account)).await?
        }

        /// Removes an account's picture, and returns the account and the picture's id.
        pub fn take_picture = TakePicture(name: Username) -> (Account, Option<PictureId>) {
            let account = accounts.account_below(me, Role::Moderator, &name).await?;
            accounts.take_picture(&account, Some(&me.account)).await?
        }
    }
}

impl Accounts {
    /// Returns the account if its role is below the caller's: staff cannot act on their equals; an admin first
    /// takes the other's role away.
    async fn account_below(&self, me: &SignedIn, least: Role, name: &Username) -> Result<Account> {
        me.account.check_role(least)?;
        let account = self.user(name).await?;
        if account.role < me.account.role {
            Ok(account)
        } else {
            Err(Error::forbidden("you can only do this to accounts with a lower role than yours"))
        }
    }
}

/// Refuses a change of the caller's own role, so that an admin is always left.
fn not_oneself(me: &SignedIn, name: &Username) -> Result<()> {
    if me.account.username == *name {
        return Err(Error::forbidden("you cannot change your own role"));
    }
    Ok(())
}
