//! What the web tier asks of the accounts tier, as functions.

use std::{net::IpAddr, sync::Arc};

use super::{
    Account, AccountId, AccountQuery, Arrival, Backend, Call, Changed, Departure, Edit, Export,
    FeedPlace, FreshSession, LinkedIdentity, NewPassword, Newcomer, Order, Own, PictureId,
    Provider, ProviderName, Reply, Role, Session, SessionDigest, SessionId, SignIn, SignUp,
    SignedIn, Username, Welcome, backend::mixed_up,
};
use crate::{Attempt, Done, Result, passwords::Password, secret::Hidden};

/// Asks a [`Backend`]. Clones ask the same.
#[derive(Clone)]
pub struct AccountsClient(Arc<dyn Backend>);

impl AccountsClient {
    /// Asks `backend`.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    /// Makes an account; `None` if the name is taken.
    pub async fn sign_up(
        &self,
        wish: SignUp,
        attempt: Option<Attempt>,
    ) -> Result<Done<Option<Account>>> {
        match self.0.call(Call::SignUp { wish, attempt }).await? {
            Reply::SignedUp(done) => Ok(done),
            _ => Err(mixed_up()),
        }
    }

    /// Lets somebody in.
    pub async fn sign_in(&self, wish: SignIn) -> Result<FreshSession> {
        match self.0.call(Call::SignIn(wish)).await? {
            Reply::SignedIn(fresh) => Ok(fresh),
            _ => Err(mixed_up()),
        }
    }

    /// Sets a new password with a one-time code.
    pub async fn reset_password(
        &self,
        username: Username,
        code: String,
        new: NewPassword,
    ) -> Result<()> {
        done(&self.0.call(Call::ResetPassword { username, code: code.into(), new }).await?)
    }

    /// Who is signed in by this token?
    pub async fn who(&self, session: SessionDigest) -> Result<SignedIn> {
        match self.0.call(Call::Who(session)).await? {
            Reply::Who(me) => Ok(me),
            _ => Err(mixed_up()),
        }
    }

    /// The account of that name.
    pub async fn user(&self, username: Username) -> Result<Account> {
        account(self.0.call(Call::User(username)).await?)
    }

    /// Changes one's nickname or address.
    pub async fn edit(&self, session: SessionDigest, edit: Edit) -> Result<Account> {
        account(self.own(session, Own::Edit(edit)).await?)
    }

    /// Changes one's password, which ends all other sessions.
    pub async fn change_password(
        &self,
        session: SessionDigest,
        current: Option<Password>,
        new: NewPassword,
        from: Option<IpAddr>,
    ) -> Result<Account> {
        account(self.own(session, Own::ChangePassword { current, new, from }).await?)
    }

    /// Where one is signed in, newest first.
    pub async fn sessions(&self, session: SessionDigest) -> Result<Vec<Session>> {
        match self.own(session, Own::Sessions).await? {
            Reply::Sessions(sessions) => Ok(sessions),
            _ => Err(mixed_up()),
        }
    }

    /// Ends one of one's sessions; the one that asks, if none is named.
    pub async fn sign_out(&self, session: SessionDigest, which: Option<SessionId>) -> Result<()> {
        done(&self.own(session, Own::SignOut(which)).await?)
    }

    /// Ends all of one's sessions.
    pub async fn sign_out_everywhere(&self, session: SessionDigest) -> Result<()> {
        done(&self.own(session, Own::SignOutEverywhere).await?)
    }

    /// Deletes one's account; who has a password must say it.
    pub async fn delete(
        &self,
        session: SessionDigest,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<()> {
        match self.own(session, Own::Delete { current, from }).await? {
            Reply::Deleted { .. } => Ok(()),
            _ => Err(mixed_up()),
        }
    }

    /// All that is kept about oneself.
    pub async fn export(&self, session: SessionDigest) -> Result<Export> {
        match self.own(session, Own::Export).await? {
            Reply::Export(export) => Ok(*export),
            _ => Err(mixed_up()),
        }
    }

    /// Sets one's picture, which is kept already, or takes it away.
    pub async fn set_picture(
        &self,
        session: SessionDigest,
        picture: Option<PictureId>,
    ) -> Result<Account> {
        match self.own(session, Own::SetPicture(picture)).await? {
            Reply::PictureSet { account, .. } => Ok(account),
            _ => Err(mixed_up()),
        }
    }

    /// Takes somebody else's picture away, as staff.
    pub async fn take_picture(&self, session: SessionDigest, name: Username) -> Result<()> {
        match self.own(session, Own::KeepOrder(Order::TakePicture(name))).await? {
            Reply::PictureSet { .. } => Ok(()),
            _ => Err(mixed_up()),
        }
    }

    /// Those of these pictures that are somebody's; at most [`PICTURES_ASKED`](crate::pictures::PICTURES_ASKED) of them.
    pub async fn pictured(&self, pictures: Vec<PictureId>) -> Result<Vec<PictureId>> {
        match self.0.call(Call::Pictured(pictures)).await? {
            Reply::Pictured(pictures) => Ok(pictures),
            _ => Err(mixed_up()),
        }
    }

    /// Those of these accounts that are there; at most [`ACCOUNTS_ASKED`](super::ACCOUNTS_ASKED) of them.
    pub async fn existing(&self, accounts: Vec<AccountId>) -> Result<Vec<AccountId>> {
        match self.0.call(Call::Existing(accounts)).await? {
            Reply::Existing(accounts) => Ok(accounts),
            _ => Err(mixed_up()),
        }
    }

    /// The accounts to which something has happened since.
    pub async fn changed_since(&self, place: Option<FeedPlace>) -> Result<Changed> {
        match self.0.call(Call::ChangedSince(place)).await? {
            Reply::Changed(changed) => Ok(changed),
            _ => Err(mixed_up()),
        }
    }

    /// The providers that one can sign in by, in the order in which they are shown.
    pub async fn providers(&self) -> Result<Vec<Provider>> {
        match self.0.call(Call::Providers).await? {
            Reply::Providers(providers) => Ok(providers),
            _ => Err(mixed_up()),
        }
    }

    /// Sends somebody to a provider, to come back to `redirect_uri`, sign in, and go on to `next`.
    pub async fn depart(
        &self,
        provider: ProviderName,
        redirect_uri: String,
        next: String,
    ) -> Result<Departure> {
        departed(self.0.call(Call::Depart { provider, redirect_uri, next }).await?)
    }

    /// The same for somebody who is signed in, to sign in by it from then on; who has a password must say it.
    pub async fn depart_to_link(
        &self,
        session: SessionDigest,
        provider: ProviderName,
        redirect_uri: String,
        current: Option<Password>,
        from: Option<IpAddr>,
    ) -> Result<Departure> {
        departed(self.own(session, Own::Depart { provider, redirect_uri, current, from }).await?)
    }

    /// Receives somebody who comes back from a provider, with the session that their browser has.
    pub async fn arrive(
        &self,
        arrival: Arrival,
        agent: String,
        session: Option<SessionDigest>,
    ) -> Result<Welcome> {
        match self.0.call(Call::Arrive { arrival, agent, session }).await? {
            Reply::Arrived(welcome) => Ok(welcome),
            _ => Err(mixed_up()),
        }
    }

    /// Makes an account for somebody with a ticket, and lets them in.
    pub async fn make_from_provider(&self, newcomer: Newcomer) -> Result<FreshSession> {
        match self.0.call(Call::MakeFromProvider(newcomer)).await? {
            Reply::SignedIn(fresh) => Ok(fresh),
            _ => Err(mixed_up()),
        }
    }

    /// By whom one's account is opened whom a provider knows.
    pub async fn identities(&self, session: SessionDigest) -> Result<Vec<LinkedIdentity>> {
        match self.own(session, Own::Identities).await? {
            Reply::Identities(identities) => Ok(identities),
            _ => Err(mixed_up()),
        }
    }

    /// Lets nobody of an issuer open it any more, and ends all other sessions.
    pub async fn unlink(&self, session: SessionDigest, issuer: String) -> Result<()> {
        done(&self.own(session, Own::Unlink(issuer)).await?)
    }

    /// Accounts in the order of their names, for staff.
    pub async fn list(&self, session: SessionDigest, query: AccountQuery) -> Result<Vec<Account>> {
        match self.own(session, Own::KeepOrder(Order::List(query))).await? {
            Reply::Accounts(accounts) => Ok(accounts),
            _ => Err(mixed_up()),
        }
    }

    /// Lets somebody in no more, or again.
    pub async fn ban(&self, session: SessionDigest, name: Username, is_banned: bool) -> Result<()> {
        let order = if is_banned { Order::Ban(name) } else { Order::Unban(name) };
        account(self.own(session, Own::KeepOrder(order)).await?).map(drop)
    }

    /// Gives somebody a role.
    pub async fn set_role(&self, session: SessionDigest, name: Username, role: Role) -> Result<()> {
        let order = Order::SetRole(name, role);
        account(self.own(session, Own::KeepOrder(order)).await?).map(drop)
    }

    /// Gives out a one-time code with which somebody can set a new password.
    pub async fn issue_reset(&self, session: SessionDigest, name: Username) -> Result<Hidden> {
        match self.own(session, Own::KeepOrder(Order::IssueReset(name))).await? {
            Reply::Code(code) => Ok(code),
            _ => Err(mixed_up()),
        }
    }

    async fn own(&self, session: SessionDigest, wish: Own) -> Result<Reply> {
        self.0.call(Call::Own { session, wish }).await
    }
}

fn done(reply: &Reply) -> Result<()> {
    if let Reply::Done = reply { Ok(()) } else { Err(mixed_up()) }
}

fn departed(reply: Reply) -> Result<Departure> {
    if let Reply::Departed(departure) = reply { Ok(departure) } else { Err(mixed_up()) }
}

fn account(reply: Reply) -> Result<Account> {
    if let Reply::Account(account) = reply { Ok(account) } else { Err(mixed_up()) }
}
