//! The seam between the web tier and the accounts tier: what the one may ask of the other, as data, so
//! that it can be asked in this process or over the network.

use std::net::IpAddr;

use async_trait::async_trait;

use super::{
    Account, AccountId, Accounts, Arrival, Changed, Departure, Edit, Export, FeedPlace,
    FreshSession, LinkedIdentity, NewPassword, Newcomer, Order, PictureId, Provider, ProviderName,
    Reply, Session, SessionDigest, SessionId, SignIn, SignUp, SignedIn, Username, Welcome,
    client::calls,
};
use crate::{Attempt, Done, Result, passwords::Password, secret::Hidden};

/// Whoever answers calls: the service itself, or the way to another process that has it.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Answers one call.
    async fn call(&self, call: Call) -> Result<Reply>;
}

#[async_trait]
impl Backend for Accounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        call.answered_by(self).await
    }
}

calls! {
    client() ask;
    server(accounts);

    /// The calls. A call about the caller's own account carries the proof of who calls: the web tier is
    /// not believed to know who is signed in.
    pub enum Call {
        /// Makes an account; `None` if the name is taken.
        pub fn sign_up = SignUp {
            /// Which.
            wish: SignUp,
            /// Of the request.
            attempt: Option<Attempt>,
        } -> Done<Option<Account>> {
            accounts.sign_up(wish, attempt).await?
        }

        /// Signs in with a password.
        pub fn sign_in = SignIn(wish: SignIn) -> FreshSession { accounts.sign_in(wish).await? }

        /// Sets a new password with a one-time code.
        pub fn reset_password = ResetPassword {
            /// Whose.
            username: Username,
            /// The code as typed.
            code: Hidden,
            /// The new password.
            new: NewPassword,
        } -> () {
            accounts.reset_password(&username, code.reveal(), new).await?;
        }

        /// Who is signed in by this token?
        pub fn who = Who(session: SessionDigest) -> SignedIn { accounts.who(session).await? }

        /// The account of that name.
        pub fn user = User(username: Username) -> Account { accounts.user(&username).await? }

        /// The accounts to which something has happened since.
        pub fn changed_since = ChangedSince(place: Option<FeedPlace>) -> Changed {
            accounts.ports.sessions.changed_since(place).await?
        }

        /// Something of one's own.
        pub(super) fn own = Own {
            /// The session that proves it.
            session: SessionDigest,
            /// What.
            wish: Own,
        } -> Reply {
            wish.answered_by(accounts, &accounts.who(session).await?).await?
        }

        /// The providers that one can sign in by, in the order in which they are shown.
        pub fn providers = Providers -> Vec<Provider> { accounts.providers() }

        /// Begins a sign-in at a provider.
        pub fn depart = Depart {
            /// To which.
            provider: ProviderName,
            /// Where they are to come back to.
            redirect_uri: String,
            /// Where they go on afterwards; nothing if they did not say.
            #[serde(default)]
            next: String,
        } -> Departure {
            accounts.depart(provider, redirect_uri, next).await?
        }

        /// Completes a sign-in at a provider.
        pub fn arrive = Arrive {
            /// With what.
            arrival: Arrival,
            /// What their device says that it is.
            agent: String,
            /// The session that their browser has.
            session: Option<SessionDigest>,
        } -> Welcome {
            accounts.arrive(arrival, &agent, session).await?
        }

        /// Makes an account for a new identity of a provider, and signs in to it.
        pub fn make_from_provider = MakeFromProvider(newcomer: Newcomer) -> FreshSession {
            accounts.make_from_provider(newcomer).await?
        }

        /// Those of these pictures that an account names; at most
        /// [`PICTURES_ASKED`](crate::pictures::PICTURES_ASKED) of them.
        pub fn pictured = Pictured(pictures: Vec<PictureId>) -> Vec<PictureId> {
            accounts.pictured(pictures).await?
        }

        /// Those of these accounts that are there; at most [`ACCOUNTS_ASKED`](super::ACCOUNTS_ASKED) of them.
        pub fn existing = Existing(some: Vec<AccountId>) -> Vec<AccountId> {
            accounts.existing(some).await?
        }
    }
}

calls! {
    client(session: SessionDigest) own;
    server(accounts, me: &SignedIn);

    /// The calls of a signed-in account.
    pub enum Own {
        /// Changes one's nickname or address.
        pub fn edit = Edit(edit: Edit) -> Account { accounts.edit(me, edit).await? }

        /// Changes one's password, which ends all other sessions.
        pub fn change_password = ChangePassword {
            /// The one of now, where there is one.
            current: Option<Password>,
            /// The new one.
            new: NewPassword,
            /// Where they are, as far as limits are concerned.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> Account {
            accounts.change_password(me, current, new, from).await?
        }

        /// Where one is signed in, newest first.
        pub fn sessions = Sessions -> Vec<Session> { accounts.sessions(me).await? }

        /// Ends one of one's sessions; the one that asks, if none is named.
        pub fn sign_out = SignOut(which: Option<SessionId>) -> () {
            accounts.sign_out(me, which.unwrap_or(me.session.id)).await?;
        }

        /// Ends all of one's sessions.
        pub fn sign_out_everywhere = SignOutEverywhere -> () {
            accounts.sign_out_everywhere(me).await?;
        }

        /// Deletes one's account, and says which picture it had; who has a password must say it.
        pub fn delete = Delete {
            /// The password, where there is one.
            #[serde(default)]
            current: Option<Password>,
            /// Where they are, as far as limits are concerned.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> Option<PictureId> {
            accounts.delete(me, current, from).await?
        }

        /// All that is kept about oneself.
        pub fn export = Export -> Box<Export> { Box::new(accounts.export(me).await?) }

        /// Keeps order among others.
        pub(super) fn keep_order = KeepOrder(order: Order) -> Reply {
            order.answered_by(accounts, me).await?
        }

        /// By whom one's account is opened whom a provider knows.
        pub fn identities = Identities -> Vec<LinkedIdentity> { accounts.identities(me).await? }

        /// Sends one to a provider, to sign in by it from then on; who has a password must say it.
        pub fn depart_to_link = Depart {
            /// To which.
            provider: ProviderName,
            /// Where to come back to.
            redirect_uri: String,
            /// The password, where there is one.
            #[serde(default)]
            current: Option<Password>,
            /// Where they are, as far as limits are concerned.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> Departure {
            accounts.depart_to_link(me, provider, redirect_uri, current, from).await?
        }

        /// Unlinks the identity of an issuer, and ends all other sessions.
        pub fn unlink = Unlink(issuer: String) -> () { accounts.unlink(me, issuer).await? }

        /// Sets one's picture, which is kept already, or takes it away; also says which it was before.
        pub fn set_picture = SetPicture(picture: Option<PictureId>) -> (Account, Option<PictureId>) {
            accounts.set_picture(me, picture).await?
        }
    }
}

impl Call {
    /// Whether an account may have lost its picture when the call is answered.
    pub(super) fn may_take_a_picture(&self) -> bool {
        let Self::Own { wish, .. } = self else { return false };
        matches!(
            wish,
            Own::SetPicture(_) | Own::Delete { .. } | Own::KeepOrder(Order::TakePicture(_))
        )
    }
}
