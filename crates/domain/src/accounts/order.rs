//! What staff may do to whom.

use super::{Account, Accounts, Actor, Order, Reply, Role, SignedIn, Username};
use crate::{Error, Result};

/// Accounts that are told at once.
const LISTED_MAX: usize = 100;

impl Accounts {
    /// Does what somebody of the staff asks for.
    pub(super) async fn keep_order(&self, me: &SignedIn, order: Order) -> Result<Reply> {
        let by = Actor::Staff(me.account.id);
        Ok(match order {
            Order::List(mut query) => {
                admit(me, Role::Moderator)?;
                query.limit = query.limit.min(LISTED_MAX);
                Reply::Accounts(self.list(query).await?)
            }
            Order::Ban(name) => {
                let account = self.lower(me, Role::Moderator, &name).await?;
                Reply::Account(self.ban(&account, by).await?)
            }
            Order::Unban(name) => {
                let account = self.lower(me, Role::Moderator, &name).await?;
                Reply::Account(self.unban(&account, by).await?)
            }
            Order::SetRole(name, role) => {
                admit(me, Role::Admin)?;
                not_oneself(me, &name)?;
                Reply::Account(self.set_role(&self.user(&name).await?, role, by).await?)
            }
            Order::IssueReset(name) => {
                let account = self.lower(me, Role::Admin, &name).await?;
                Reply::Code(self.issue_reset(&account, by).await?)
            }
            Order::TakePicture(name) => {
                let account = self.lower(me, Role::Moderator, &name).await?;
                let (account, former) = self.take_picture(&account, by).await?;
                Reply::PictureSet { account, former }
            }
        })
    }

    /// Somebody over whom one has a say: staff do not turn on each other, an admin first takes the role
    /// away.
    async fn lower(&self, me: &SignedIn, least: Role, name: &Username) -> Result<Account> {
        admit(me, least)?;
        let account = self.user(name).await?;
        if account.role < me.account.role {
            Ok(account)
        } else {
            Err(Error::forbidden("this account's role is not below yours"))
        }
    }
}

fn admit(me: &SignedIn, least: Role) -> Result<()> {
    if me.account.role >= least { Ok(()) } else { Err(Error::forbidden("this is for staff")) }
}

/// So that there is an admin left.
fn not_oneself(me: &SignedIn, name: &Username) -> Result<()> {
    if me.account.username == *name {
        return Err(Error::forbidden("nobody changes their own role"));
    }
    Ok(())
}
