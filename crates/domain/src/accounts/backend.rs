//! The seam between the web tier and the accounts tier: what the one may ask of the other, as data, so
//! that it can be asked in this process or over the network.

use std::net::IpAddr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{
    Account, AccountId, AccountQuery, Accounts, Arrival, Changed, Departure, Edit, Export,
    FeedPlace, FreshSession, LinkedIdentity, NewPassword, Newcomer, PictureId, Provider,
    ProviderName, Role, Session, SessionDigest, SessionId, SignIn, SignUp, SignedIn, Username,
    Welcome,
};
use crate::{Attempt, Done, Error, Result, passwords::Password, secret::Hidden};

/// What can be asked. Whoever asks for something of their own proves it with every call: the web tier is
/// not believed to know who is signed in.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Make an account.
    SignUp {
        /// Which.
        wish: SignUp,
        /// Of the request.
        attempt: Option<Attempt>,
    },
    /// Let somebody in.
    SignIn(SignIn),
    /// Set a new password with a one-time code.
    ResetPassword {
        /// Whose.
        username: Username,
        /// The code as typed.
        code: Hidden,
        /// The new password.
        new: NewPassword,
    },
    /// Who is signed in by this token?
    Who(SessionDigest),
    /// What is known of this account?
    User(Username),
    /// To which accounts has something happened since?
    ChangedSince(Option<FeedPlace>),
    /// Something of one's own.
    Own {
        /// The session that proves it.
        session: SessionDigest,
        /// What.
        wish: Own,
    },
    /// By which providers can one sign in?
    Providers,
    /// Send somebody to a provider, to sign in.
    Depart {
        /// To which.
        provider: ProviderName,
        /// Where they are to come back to.
        redirect_uri: String,
        /// Where they go on afterwards; nothing if they did not say.
        #[serde(default)]
        next: String,
    },
    /// Let somebody in who comes back from a provider.
    Arrive {
        /// With what.
        arrival: Arrival,
        /// What their device says that it is.
        agent: String,
        /// The session that their browser has.
        session: Option<SessionDigest>,
    },
    /// Make an account for somebody whom a provider knows, and let them in.
    MakeFromProvider(Newcomer),
    /// Which of these pictures are somebody's?
    Pictured(Vec<PictureId>),
    /// Which of these accounts are there?
    Existing(Vec<AccountId>),
}

/// What somebody who is signed in can ask for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Own {
    /// Change one's nickname or address.
    Edit(Edit),
    /// Change one's password.
    ChangePassword {
        /// The one of now, where there is one.
        current: Option<Password>,
        /// The new one.
        new: NewPassword,
        /// Where they are, as far as limits are concerned.
        #[serde(default)]
        from: Option<IpAddr>,
    },
    /// Where one is signed in.
    Sessions,
    /// End one session; the one that asks, if none is named.
    SignOut(Option<SessionId>),
    /// End all.
    SignOutEverywhere,
    /// Delete one's account.
    Delete {
        /// The password, where there is one.
        #[serde(default)]
        current: Option<Password>,
        /// Where they are, as far as limits are concerned.
        #[serde(default)]
        from: Option<IpAddr>,
    },
    /// All that is kept about oneself.
    Export,
    /// Keep order among others.
    KeepOrder(Order),
    /// By whom one's account is opened whom a provider knows.
    Identities,
    /// Go to a provider, to sign in by it from then on.
    Depart {
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
    },
    /// Let nobody of this issuer open it any more.
    Unlink(String),
    /// Set one's picture, which is kept already, or take it away.
    SetPicture(Option<PictureId>),
}

impl Call {
    /// Whether somebody may have a picture no more when it is answered.
    pub(super) fn may_take_a_picture(&self) -> bool {
        let Self::Own { wish, .. } = self else { return false };
        matches!(
            wish,
            Own::SetPicture(_) | Own::Delete { .. } | Own::KeepOrder(Order::TakePicture(_))
        )
    }
}

/// What staff can ask for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Who has an account?
    List(AccountQuery),
    /// Let somebody in no more.
    Ban(Username),
    /// Lift a ban.
    Unban(Username),
    /// Give somebody a role.
    SetRole(Username, Role),
    /// Give out a one-time code with which somebody can set a new password.
    IssueReset(Username),
    /// Take somebody's picture away.
    TakePicture(Username),
}

/// What came of a call that was not refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done.
    Done,
    /// The account that was made; none if the name is taken.
    SignedUp(Done<Option<Account>>),
    /// The session that began.
    SignedIn(FreshSession),
    /// Who is signed in.
    Who(SignedIn),
    /// The account.
    Account(Account),
    /// The sessions, newest first.
    Sessions(Vec<Session>),
    /// What has changed.
    Changed(Changed),
    /// All that is kept.
    Export(Box<Export>),
    /// The accounts, in the order of their names.
    Accounts(Vec<Account>),
    /// The one-time code.
    Code(Hidden),
    /// The providers, in the order in which they are shown.
    Providers(Vec<Provider>),
    /// Where somebody goes.
    Departed(Departure),
    /// How somebody is received.
    Arrived(Welcome),
    /// The identities that open the account.
    Identities(Vec<LinkedIdentity>),
    /// The account with its new picture.
    PictureSet {
        /// The account.
        account: Account,
        /// The picture that it had before.
        former: Option<PictureId>,
    },
    /// The pictures that are somebody's.
    Pictured(Vec<PictureId>),
    /// The account is deleted.
    Deleted {
        /// The picture that it had.
        picture: Option<PictureId>,
    },
    /// The accounts that are there.
    Existing(Vec<AccountId>),
}

/// Whoever answers calls: the service itself, or the way to another process that has it.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Answers one call.
    async fn call(&self, call: Call) -> Result<Reply>;
}

#[async_trait]
impl Backend for Accounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        Ok(match call {
            Call::SignUp { wish, attempt } => Reply::SignedUp(self.sign_up(wish, attempt).await?),
            Call::SignIn(wish) => Reply::SignedIn(self.sign_in(wish).await?),
            Call::ResetPassword { username, code, new } => {
                self.reset_password(&username, code.reveal(), new).await?;
                Reply::Done
            }
            Call::Who(session) => Reply::Who(self.who(session).await?),
            Call::User(username) => Reply::Account(self.user(&username).await?),
            Call::ChangedSince(place) => {
                Reply::Changed(self.ports.sessions.changed_since(place).await?)
            }
            Call::Own { session, wish } => {
                let me = self.who(session).await?;
                self.own(&me, wish).await?
            }
            Call::Providers => Reply::Providers(self.providers()),
            Call::Depart { provider, redirect_uri, next } => {
                Reply::Departed(self.depart(provider, redirect_uri, next).await?)
            }
            Call::Arrive { arrival, agent, session } => {
                Reply::Arrived(self.arrive(arrival, &agent, session).await?)
            }
            Call::MakeFromProvider(newcomer) => {
                Reply::SignedIn(self.make_from_provider(newcomer).await?)
            }
            Call::Pictured(pictures) => Reply::Pictured(self.pictured(pictures).await?),
            Call::Existing(accounts) => Reply::Existing(self.existing(accounts).await?),
        })
    }
}

impl Accounts {
    async fn own(&self, me: &SignedIn, wish: Own) -> Result<Reply> {
        Ok(match wish {
            Own::Edit(edit) => Reply::Account(self.edit(me, edit).await?),
            Own::ChangePassword { current, new, from } => {
                Reply::Account(self.change_password(me, current, new, from).await?)
            }
            Own::Sessions => Reply::Sessions(self.sessions(me).await?),
            Own::SignOut(session) => {
                self.sign_out(me, session.unwrap_or(me.session.id)).await?;
                Reply::Done
            }
            Own::SignOutEverywhere => {
                self.sign_out_everywhere(me).await?;
                Reply::Done
            }
            Own::Delete { current, from } => {
                Reply::Deleted { picture: self.delete(me, current, from).await? }
            }
            Own::Export => Reply::Export(Box::new(self.export(me).await?)),
            Own::KeepOrder(order) => self.keep_order(me, order).await?,
            Own::Identities => Reply::Identities(self.identities(me).await?),
            Own::Depart { provider, redirect_uri, current, from } => Reply::Departed(
                self.depart_to_link(me, provider, redirect_uri, current, from).await?,
            ),
            Own::Unlink(issuer) => {
                self.unlink(me, issuer).await?;
                Reply::Done
            }
            Own::SetPicture(picture) => {
                let (account, former) = self.set_picture(me, picture).await?;
                Reply::PictureSet { account, former }
            }
        })
    }
}

/// A reply to another call than was made.
pub(super) fn mixed_up() -> Error {
    Error::internal("the accounts tier answered something else than was asked")
}
