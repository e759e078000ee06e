//! The JSON types of accounts.

use http::HeaderMap;
use jiff::Timestamp;
use lodge_domain::{
    Result,
    accounts::{
        Account, AccountEvent, Actor, Email, Export, FreshSession, LinkedIdentity, NewPassword,
        Nickname, PasswordContext, PictureId, PictureSize, ProfileChange, Provider, Session,
        SessionId, SignUp, SignedIn, Username,
    },
    passwords::Password,
    patch,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::new_password::new_password;
use crate::{edge::address::Client, error::Problem, json, pictures};

/// The account to create.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object that describes an account")]
pub(crate) struct CreateAccount {
    /// 1 to 30 characters, letters of one script; upper and lower case count as the same. A name that looks like a
    /// taken one is taken, too, and names such as `admin` are reserved.
    #[schema(example = "ann")]
    pub(crate) username: String,
    /// 8 to 128 characters of any kind; common passwords, and those made of your names or the name of the site, are
    /// refused.
    #[schema(example = "correct horse battery")]
    pub(crate) password: String,
    /// The displayed name, 1 to 30 characters; by default the username.
    #[schema(example = "Ann")]
    pub(crate) nickname: Option<String>,
    /// An e-mail address; not verified, and shown only to you.
    pub(crate) email: Option<String>,
}

impl CreateAccount {
    pub(super) fn parse(self) -> Result<SignUp> {
        let username = Username::parse(&self.username)?;
        let context = PasswordContext {
            nickname: self.nickname.as_deref().unwrap_or_default(),
            email: self.email.as_deref().unwrap_or_default(),
            ..PasswordContext::from(&username)
        };
        Ok(SignUp {
            password: new_password("password", self.password, context)?,
            username,
            nickname: self.nickname.as_deref().map(Nickname::parse).transpose()?,
            email: self.email.as_deref().map(Email::parse).transpose()?,
        })
    }
}

/// The credentials.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a username and a password")]
pub(crate) struct BeginSession {
    /// The username.
    #[schema(example = "ann")]
    pub(crate) username: String,
    /// The password.
    #[schema(example = "correct horse battery")]
    pub(crate) password: String,
}

/// A session token; it is returned only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionToken {
    /// Send it as `Authorization: Bearer`.
    #[schema(example = "session_…")]
    token: String,
    /// Each use puts it off, up to a limit of the server.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

impl From<FreshSession> for SessionToken {
    fn from(fresh: FreshSession) -> Self {
        Self { token: fresh.token, expires_at: fresh.signed_in.session.expires_at }
    }
}

/// The fields to change; absent fields stay, and null removes a value.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the fields to change")]
#[expect(clippy::option_option, reason = "absent, null and a value are three things")]
pub(crate) struct EditAccount {
    /// The displayed name, 1 to 30 characters.
    #[schema(example = "Ann")]
    nickname: Option<String>,
    /// An e-mail address.
    #[serde(default, deserialize_with = "patch::present")]
    #[schema(value_type = Option<String>, example = "ann@example.org")]
    email: Option<Option<String>>,
    /// The current password; required to change the e-mail address of an account that has one.
    #[schema(example = "correct horse battery")]
    current: Option<String>,
}

impl EditAccount {
    pub(super) fn parse(self, client: Client) -> Result<ProfileChange> {
        let email = self.email.map(|email| email.as_deref().map(Email::parse).transpose());
        Ok(ProfileChange {
            nickname: self.nickname.as_deref().map(Nickname::parse).transpose()?,
            email: email.transpose()?,
            current: self.current.map(|typed| Password::parse("current", typed)).transpose()?,
            from: client.limited_by(),
        })
    }
}

/// The password change.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the current and the new password")]
pub(crate) struct ChangePassword {
    /// The current password; absent for an account that has none.
    #[schema(example = "correct horse battery")]
    current: Option<String>,
    /// The new password, 8 to 128 characters of any kind.
    #[schema(example = "a longer passphrase")]
    new: String,
}

impl ChangePassword {
    pub(super) fn parse(self, me: &SignedIn) -> Result<(Option<Password>, NewPassword)> {
        let current = self.current.map(|typed| Password::parse("current", typed)).transpose()?;
        Ok((current, new_password("new", self.new, &me.account)?))
    }
}

/// The proof that the owner of the account asks.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with the current password")]
pub(crate) struct CurrentPassword {
    /// The current password; absent for an account that has none.
    #[schema(example = "correct horse battery")]
    current: Option<String>,
}

impl CurrentPassword {
    /// Parses an optional body.
    pub(super) fn in_body(headers: &HeaderMap, body: &[u8]) -> Result<Option<Password>, Problem> {
        match body {
            [] => Ok(None),
            body => Ok(json::body_of::<Self>(headers, body)?.parse()?),
        }
    }

    pub(super) fn parse(self) -> Result<Option<Password>> {
        self.current.map(|typed| Password::parse("current", typed)).transpose()
    }
}

/// A password reset with a one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a username, a code and the new password")]
pub(crate) struct ResetPassword {
    /// The username.
    #[schema(example = "ann")]
    username: String,
    /// The code from an administrator: `reset_…`.
    #[schema(example = "reset_…")]
    code: String,
    /// The new password, 8 to 128 characters of any kind.
    #[schema(example = "a longer passphrase")]
    new: String,
}

impl ResetPassword {
    pub(super) fn parse(self) -> Result<(Username, String, NewPassword)> {
        let username = Username::parse(&self.username)?;
        let new = new_password("new", self.new, &username)?;
        Ok((username, self.code, new))
    }
}

/// The public profile of an account.
#[derive(Serialize, ToSchema)]
pub(crate) struct UserJson {
    #[schema(example = "ann")]
    username: String,
    #[schema(example = "Ann")]
    nickname: String,
    /// member, moderator or admin.
    #[schema(example = "member")]
    role: &'static str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The paths of the picture; null without a picture.
    picture: Option<PictureJson>,
}

/// The paths of a picture on this site, as JPEG. The picture at a path never changes.
#[derive(Serialize, ToSchema)]
pub(crate) struct PictureJson {
    /// 256 pixels a side.
    #[schema(example = "/-/pictures/…/256")]
    large: String,
    /// 64 pixels a side.
    #[schema(example = "/-/pictures/…/64")]
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

/// An account, as shown to its owner.
#[derive(Serialize, ToSchema)]
pub(crate) struct AccountJson {
    #[serde(flatten)]
    user: UserJson,
    email: Option<String>,
    /// Whether the account has a password.
    #[schema(example = true)]
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

/// A session.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionJson {
    #[schema(example = "17")]
    id: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Each use puts it off, up to a limit of the server.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    /// The `User-Agent` at sign-in.
    #[schema(example = "curl/8.5.0")]
    agent: String,
    /// Whether this request uses the session.
    #[schema(example = true)]
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

/// The sessions of an account, newest first.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionsJson {
    pub(super) sessions: Vec<SessionJson>,
}

/// An event in the history of an account.
#[derive(Serialize, ToSchema)]
struct EventJson {
    #[schema(example = "signed_up")]
    what: &'static str,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// Whether a moderator or an administrator did it.
    by_staff: bool,
}

impl From<&AccountEvent> for EventJson {
    fn from(event: &AccountEvent) -> Self {
        Self { what: event.kind.name(), at: event.at, by_staff: event.by != Actor::Owner }
    }
}

/// Everything stored about an account.
#[derive(Serialize, ToSchema)]
pub(crate) struct ExportJson {
    account: AccountJson,
    sessions: Vec<SessionJson>,
    /// Newest first.
    events: Vec<EventJson>,
    /// The linked provider identities.
    identities: Vec<LinkedJson>,
    /// The data of the other apps on this server, each as a list: your `links`, your `passes`, your `leaderboard_profile`
    /// if leaderboards show it, your `messages`. Streamed after the other fields.
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

/// A sign-in provider.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProviderJson {
    /// The name in paths: a browser starts at `/login/by/{name}`.
    #[schema(example = "google")]
    name: String,
    /// The displayed name.
    #[schema(example = "Google")]
    title: String,
    #[schema(example = "https://accounts.google.com")]
    issuer: String,
}

impl From<Provider> for ProviderJson {
    fn from(provider: Provider) -> Self {
        let Provider { name, title, issuer } = provider;
        Self { name: name.to_string(), title, issuer }
    }
}

/// The sign-in providers.
#[derive(Serialize, ToSchema)]
pub(crate) struct ProvidersJson {
    pub(super) providers: Vec<ProviderJson>,
}

/// A provider identity that can sign in to the account.
#[derive(Serialize, ToSchema)]
pub(crate) struct LinkedJson {
    #[schema(example = "https://accounts.google.com")]
    issuer: String,
    /// The id of the user at the provider.
    #[schema(example = "110169484474386276334")]
    subject: String,
    #[schema(value_type = String, format = DateTime)]
    linked_at: Timestamp,
}

impl From<LinkedIdentity> for LinkedJson {
    fn from(linked: LinkedIdentity) -> Self {
        let LinkedIdentity { identity, linked_at } = linked;
        Self { issuer: identity.issuer, subject: identity.subject, linked_at }
    }
}

/// The provider identities linked to an account.
#[derive(Serialize, ToSchema)]
pub(crate) struct LinkedListJson {
    pub(super) linked: Vec<LinkedJson>,
}
