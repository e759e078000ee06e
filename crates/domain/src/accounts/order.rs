//! What staff may do to whom.

use super::{
    Account, AccountQuery, Accounts, Actor, PictureId, Role, SessionDigest, SignedIn, Username,
    client::calls,
};
use crate::{Error, Result, secret::Hidden};

/// Accounts that are told at once.
const LISTED_MAX: usize = 100;

calls! {
    client(session: SessionDigest) keep_order;
    server(accounts, me: &SignedIn);

    /// What staff can ask for.
    pub enum Order {
        /// Accounts in the order of their names.
        pub fn list = List(query: AccountQuery) -> Vec<Account> {
            me.account.check_role(Role::Moderator)?;
            let limit = query.limit.min(LISTED_MAX);
            accounts.list(AccountQuery { limit, ..query }).await?
        }

        /// Lets somebody in no more.
        pub fn ban = Ban(name: Username) -> Account {
            let account = accounts.lower(me, Role::Moderator, &name).await?;
            accounts.ban(&account, by(me)).await?
        }

        /// Lifts a ban.
        pub fn unban = Unban(name: Username) -> Account {
            let account = accounts.lower(me, Role::Moderator, &name).await?;
            accounts.unban(&account, by(me)).await?
        }

        /// Gives somebody a role.
        pub fn set_role = SetRole(name: Username, role: Role) -> Account {
            me.account.check_role(Role::Admin)?;
            not_oneself(me, &name)?;
            accounts.set_role(&accounts.user(&name).await?, role, by(me)).await?
        }

        /// Gives out a one-time code with which somebody can set a new password.
        pub fn issue_reset = IssueReset(name: Username) -> Hidden {
            let account = accounts.lower(me, Role::Admin, &name).await?;
            accounts.issue_reset(&account, by(me)).await?
        }

        /// Takes somebody's picture away, and says which it was.
        pub fn take_picture = TakePicture(name: Username) -> (Account, Option<PictureId>) {
            let account = accounts.lower(me, Role::Moderator, &name).await?;
            accounts.take_picture(&account, by(me)).await?
        }
    }
}

impl Accounts {
    /// Somebody over whom one has a say: staff do not turn on each other, an admin first takes the role
    /// away.
    async fn lower(&self, me: &SignedIn, least: Role, name: &Username) -> Result<Account> {
        me.account.check_role(least)?;
        let account = self.user(name).await?;
        if account.role < me.account.role {
            Ok(account)
        } else {
            Err(Error::forbidden("this account's role is not below yours"))
        }
    }
}

fn by(me: &SignedIn) -> Actor {
    Actor::Staff(me.account.id)
}

/// So that there is an admin left.
fn not_oneself(me: &SignedIn, name: &Username) -> Result<()> {
    if me.account.username == *name {
        return Err(Error::forbidden("nobody changes their own role"));
    }
    Ok(())
}
