//! The forms that accounts have in JSON.

use jiff::Timestamp;
use lodge_domain::{
    Result,
    accounts::{
        Account, Actor, Edit, Email, Event, Export, FreshSession, LinkedIdentity, NewPassword,
        Nickname, PictureId, PictureSize, Provider, Session, SessionId, SignUp, SignedIn, Username,
    },
    passwords::Password,
    patch,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::pictures;

/// An account to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object that describes an account")]
pub(crate) struct CreateAccount {
    /// Its name, 1 to 30 characters; upper and lower case are one.
    #[schema(example = "ada")]
    pub(crate) username: String,
    /// Its password, 8 to 128 characters of any kind, and none of those that everybody tries first.
    pub(crate) password: String,
    /// What others are to see, 1 to 30 characters; the name if absent.
    pub(crate) nickname: Option<String>,
    /// An address, if you like; it proves nothing and is shown to nobody else.
    pub(crate) email: Option<String>,
}

impl CreateAccount {
    pub(super) fn parse(self) -> Result<SignUp> {
        let username = Username::parse(&self.username)?;
        Ok(SignUp {
            password: NewPassword::parse("password", self.password, &username)?,
            username,
            nickname: self.nickname.as_deref().map(Nickname::parse).transpose()?,
            email: self.email.as_deref().map(Email::parse).transpose()?,
        })
    }
}

/// Who wants to be let in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a username and a password")]
pub(crate) struct BeginSession {
    /// The name.
    #[schema(example = "ada")]
    pub(crate) username: String,
    /// The password.
    pub(crate) password: String,
}

/// A session's token, told once.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionToken {
    /// To be sent as `Authorization: Bearer`.
    token: String,
    #[schema(value_type = String)]
    expires_at: Timestamp,
}

impl From<FreshSession> for SessionToken {
    fn from(fresh: FreshSession) -> Self {
        Self { token: fresh.token, expires_at: fresh.signed_in.session.expires_at }
    }
}

/// What to change; what is absent stays, and null takes away.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object of what is to change")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub(crate) struct EditAccount {
    /// What others see, 1 to 30 characters.
    nickname: Option<String>,
    /// An address.
    #[serde(default, deserialize_with = "patch::present")]
    #[schema(value_type = Option<String>)]
    email: Option<Option<String>>,
}

impl EditAccount {
    pub(super) fn parse(self) -> Result<Edit> {
        let email = self.email.map(|email| email.as_deref().map(Email::parse).transpose());
        Ok(Edit {
            nickname: self.nickname.as_deref().map(Nickname::parse).transpose()?,
            email: email.transpose()?,
        })
    }
}

/// A password to change to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the current and the new password")]
pub(crate) struct ChangePassword {
    /// The current password; absent for an account that has none.
    current: Option<String>,
    /// What it is to be, 8 to 128 characters of any kind.
    new: String,
}

impl ChangePassword {
    pub(super) fn parse(self, me: &SignedIn) -> Result<(Option<Password>, NewPassword)> {
        let current = self.current.map(|typed| Password::parse("current", typed)).transpose()?;
        Ok((current, NewPassword::parse("new", self.new, &me.account.username)?))
    }
}

/// What proves that it is the owner who deletes an account.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the current password")]
pub(crate) struct DeleteAccount {
    /// The current password; absent for an account that has none.
    current: Option<String>,
}

impl DeleteAccount {
    pub(super) fn parse(self) -> Result<Option<Password>> {
        self.current.map(|typed| Password::parse("current", typed)).transpose()
    }
}

/// A new password, by a one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a username, a code and the new password")]
pub(crate) struct ResetPassword {
    /// The name.
    #[schema(example = "ada")]
    username: String,
    /// The code that an administrator gave out: reset_….
    code: String,
    /// What the password is to be, 8 to 128 characters of any kind.
    new: String,
}

impl ResetPassword {
    pub(super) fn parse(self) -> Result<(Username, String, NewPassword)> {
        let username = Username::parse(&self.username)?;
        let new = NewPassword::parse("new", self.new, &username)?;
        Ok((username, self.code, new))
    }
}

/// An account, as everybody sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct UserJson {
    username: String,
    nickname: String,
    /// member, moderator or admin.
    role: &'static str,
    #[schema(value_type = String)]
    created_at: Timestamp,
    /// Where its picture is, if it has one.
    picture: Option<PictureJson>,
}

/// Where a picture is, on this site: JPEG, and never another at the same place.
#[derive(Serialize, ToSchema)]
pub(crate) struct PictureJson {
    /// 256 pixels a side.
    large: String,
    /// 64 pixels a side.
    small: String,
}

impl From<PictureId> for PictureJson {
    fn from(id: PictureId) -> Self {
        let of = |size| pictures::path(id, size);
        Self { large: of(PictureSize::Large), small: of(PictureSize::Small) }
    }
}

impl From<&Account> for UserJson {
    fn from(account: &Account) -> Self {
        Self {
            username: account.username.to_string(),
            nickname: account.nickname.to_string(),
            role: account.role.name(),
            created_at: account.created_at,
            picture: account.picture.map(Into::into),
        }
    }
}

/// An account, as its owner sees it.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountJson {
    #[serde(flatten)]
    user: UserJson,
    email: Option<String>,
    /// Whether one can sign in to it with a password.
    has_password: bool,
}

impl From<&Account> for AccountJson {
    fn from(account: &Account) -> Self {
        Self {
            user: account.into(),
            email: account.email.as_ref().map(|email| email.as_str().to_owned()),
            has_password: account.has_password,
        }
    }
}

/// Where somebody is signed in.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionJson {
    id: String,
    #[schema(value_type = String)]
    created_at: Timestamp,
    #[schema(value_type = String)]
    expires_at: Timestamp,
    /// What the device said that it is.
    agent: String,
    /// Whether it is the one that asks.
    current: bool,
}

impl SessionJson {
    pub(super) fn of(session: Session, current: SessionId) -> Self {
        Self {
            id: session.id.0.to_string(),
            created_at: session.created_at,
            expires_at: session.expires_at,
            agent: session.agent,
            current: session.id == current,
        }
    }
}

/// Where somebody is signed in, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionsJson {
    pub(super) sessions: Vec<SessionJson>,
}

/// Something that happened to an account.
#[derive(Serialize, ToSchema)]
struct EventJson {
    what: &'static str,
    #[schema(value_type = String)]
    at: Timestamp,
    /// Whether somebody of the staff did it.
    by_staff: bool,
}

impl From<&Event> for EventJson {
    fn from(event: &Event) -> Self {
        Self { what: event.kind.name(), at: event.at, by_staff: event.by != Actor::Owner }
    }
}

/// All that is kept about somebody.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportJson {
    account: AccountJson,
    sessions: Vec<SessionJson>,
    /// Newest first.
    events: Vec<EventJson>,
    /// By whom the account is opened whom a provider knows.
    identities: Vec<LinkedJson>,
    /// What other apps of this server keep, each as a list: `passes` that are one's own, `messages` that one wrote. It
    /// is written while it is read, after the rest.
    #[serde(flatten)]
    kept: Map<String, Value>,
}

impl ExportJson {
    pub(super) fn of(export: Export, current: SessionId) -> Self {
        let sessions = export.sessions.into_iter();
        Self {
            account: (&export.account).into(),
            sessions: sessions.map(|session| SessionJson::of(session, current)).collect(),
            events: export.events.iter().map(Into::into).collect(),
            identities: export.identities.into_iter().map(Into::into).collect(),
            kept: Map::new(),
        }
    }
}

/// A provider that one can sign in by.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProviderJson {
    /// In paths: a browser begins at `/login/by/{name}`.
    name: String,
    /// What it is called.
    title: String,
    issuer: String,
}

impl From<Provider> for ProviderJson {
    fn from(provider: Provider) -> Self {
        let Provider { name, title, issuer } = provider;
        Self { name: name.to_string(), title, issuer }
    }
}

/// The providers that one can sign in by.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProvidersJson {
    pub(super) providers: Vec<ProviderJson>,
}

/// Who somebody is to a provider, by which their account is opened.
#[derive(Serialize, ToSchema)]
pub(crate) struct LinkedJson {
    issuer: String,
    /// What the provider calls them.
    subject: String,
    #[schema(value_type = String)]
    linked_at: Timestamp,
}

impl From<LinkedIdentity> for LinkedJson {
    fn from(linked: LinkedIdentity) -> Self {
        let LinkedIdentity { identity, linked_at } = linked;
        Self { issuer: identity.issuer, subject: identity.subject, linked_at }
    }
}

/// By whom an account is opened whom a provider knows.
#[derive(Serialize, ToSchema)]
pub(crate) struct LinkedListJson {
    pub(super) linked: Vec<LinkedJson>,
}
