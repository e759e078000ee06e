//! The interface between the web tier and the accounts tier: calls as data, so that they run in this process or
//! over the network.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;

use super::{
    Account, AccountId, Accounts, Export, FeedPage, FeedPosition, FreshSession, LinkedIdentity,
    LoginCallback, LoginOutcome, LoginRedirect, ModerationCommand, NewPassword, PictureId,
    ProfileChange, Provider, ProviderName, ProviderSignUp, Reply, Session, SessionDigest,
    SessionId, SignIn, SignUp, SignedIn, Username, client::calls,
};
use crate::{
    IdempotencyKey, Idempotent, Result,
    passwords::Password,
    secret::SecretText,
    security::{self, SecurityActor, SecurityContext, SecurityEvent, SecurityRecorder},
};

/// A handler of calls: the service itself, or a connection to a process that runs it.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Handles one call.
    async fn call(&self, call: Call) -> Result<Reply>;
}

#[async_trait]
impl Backend for Accounts {
    async fn call(&self, call: Call) -> Result<Reply> {
        call.answered_by(self).await
    }
}

/// A [`Backend`] for calls of other processes, whose security events go to a recorder of this one.
pub struct RecordedCalls {
    /// The inner backend.
    pub backend: Arc<dyn Backend>,
    /// The recorder.
    pub recorder: Arc<dyn SecurityRecorder>,
}

#[async_trait]
impl Backend for RecordedCalls {
    async fn call(&self, call: Call) -> Result<Reply> {
        let recorder = Arc::clone(&self.recorder);
        let context = SecurityContext::new(recorder, call.from(), SecurityActor::Visitor);
        security::within(context, self.backend.call(call)).await
    }
}

calls! {
    client() call;
    server(accounts);

    /// A call. A call on the caller's own account carries its session: the accounts tier does not trust the web
    /// tier to know who is signed in.
    pub enum Call {
        /// Creates an account; `None` if the name is taken.
        pub fn sign_up = SignUp {
            /// The account to create.
            request: SignUp,
            /// The request's idempotency key.
            idempotency_key: Option<IdempotencyKey>,
        } -> Idempotent<Option<Account>> {
            accounts.sign_up(request, idempotency_key).await?
        }

        /// Signs in with a password.
        pub fn sign_in = SignIn(request: SignIn) -> FreshSession { accounts.sign_in(request).await? }

        /// Sets a new password with a one-time code.
        pub fn reset_password = ResetPassword {
            /// The account's username.
            username: Username,
            /// The code as typed.
            code: SecretText,
            /// The new password.
            new: NewPassword,
        } -> () {
            accounts.reset_password(&username, code.reveal(), new).await?;
        }

        /// Returns the session of a token and its account. With `since`, a copy may answer that has all changes up to
        /// that position of the change feed; otherwise the store answers.
        pub(super) fn find_session_since = Who {
            /// The digest of the token.
            session: SessionDigest,
            /// The caller's position in the change feed.
            #[serde(default)]
            since: Option<FeedPosition>,
        } -> SignedIn {
            // The service has no copies.
            let _ = since;
            accounts.who(session).await?
        }

        /// Replaces the token of a session, which goes on.
        pub fn renew_token = RenewToken(session: SessionDigest) -> FreshSession {
            accounts.renew_token(session).await?
        }

        /// Returns the account with this username.
        pub fn user = User(username: Username) -> Account { accounts.user(&username).await? }

        /// Whether no account is an admin.
        pub fn needs_admin = NeedsAdmin -> bool { accounts.needs_admin().await? }

        /// Creates the account of the first admin.
        pub fn set_up = SetUp {
            /// The account to create.
            request: SignUp,
            /// The setup code.
            code: SecretText,
        } -> Account {
            accounts.set_up(request, &code).await?
        }

        /// Returns the accounts that changed since `place`.
        pub fn changed_since = ChangedSince(place: Option<FeedPosition>) -> FeedPage {
            accounts.ports.sessions.changed_since(place).await?
        }

        /// Makes a call on the caller's own account.
        pub(super) fn own = Own {
            /// The caller's session.
            session: SessionDigest,
            /// The call.
            call: OwnAccountCall,
        } -> Reply {
            call.answered_by(accounts, &accounts.who(session).await?).await?
        }

        /// Returns the configured providers in display order.
        pub fn providers = Providers -> Vec<Provider> { accounts.providers() }

        /// Begins a sign-in with a provider.
        pub fn begin_login = BeginLogin {
            /// The provider.
            provider: ProviderName,
            /// The redirect URI.
            redirect_uri: String,
            /// The path to continue at; may be empty.
            #[serde(default)]
            next: String,
            /// Whether the provider must authenticate the user now, instead of relying on an earlier sign-in.
            #[serde(default)]
            reauthenticate: bool,
        } -> LoginRedirect {
            accounts.begin_login(provider, redirect_uri, next, reauthenticate).await?
        }

        /// Completes a sign-in with a provider.
        pub fn complete_login = CompleteLogin {
            /// The provider's callback.
            callback: LoginCallback,
            /// The `User-Agent`.
            agent: String,
            /// The session of the browser, if any.
            session: Option<SessionDigest>,
        } -> LoginOutcome {
            accounts.complete_login(callback, &agent, session).await?
        }

        /// Creates an account for a provider's identity that has none, and signs in to it.
        pub fn sign_up_with_provider = SignUpWithProvider(sign_up: ProviderSignUp) -> FreshSession {
            accounts.sign_up_with_provider(sign_up).await?
        }

        /// Returns those of `pictures` that an account has; at most
        /// [`PICTURES_ASKED`](crate::pictures::PICTURES_PER_CALL_MAX) per call.
        pub fn pictured = Pictured(pictures: Vec<PictureId>) -> Vec<PictureId> {
            accounts.pictured(pictures).await?
        }

        /// Stores security events of a web process; at most
        /// [`SECURITY_EVENTS_PER_CALL_MAX`](crate::security::SECURITY_EVENTS_PER_CALL_MAX) per call.
        pub fn store_security_events = StoreSecurityEvents(events: Vec<SecurityEvent>) -> () {
            accounts.store_security_events(events).await?;
        }

        /// Returns those of the accounts that exist; at most [`ACCOUNTS_ASKED`](super::ACCOUNTS_PER_CALL_MAX) per call.
        pub fn existing = Existing(some: Vec<AccountId>) -> Vec<AccountId> {
            accounts.existing(some).await?
        }
    }
}

calls! {
    client(session: SessionDigest) own;
    server(accounts, me: &SignedIn);

    /// A call of a signed-in account on itself.
    pub enum OwnAccountCall {
        /// Changes the nickname or the e-mail address.
        pub fn edit = Edit(edit: ProfileChange) -> Account { accounts.edit(me, edit).await? }

        /// Changes the password, and replaces all sessions by a new one.
        pub fn change_password = ChangePassword {
            /// The current password, if the account has one.
            current: Option<Password>,
            /// The new password.
            new: NewPassword,
            /// The client's address, for rate limits.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> FreshSession {
            accounts.change_password(me, current, new, from).await?
        }

        /// Returns the sessions, newest first.
        pub fn sessions = Sessions -> Vec<Session> { accounts.sessions(me).await? }

        /// Ends the current session.
        pub fn sign_out = SignOut -> () { accounts.sign_out(me).await?; }

        /// Ends one session; requires the password, if the account has one and the session is not the current one.
        pub fn end_session = EndSession {
            /// The session.
            which: SessionId,
            /// The password, if the account has one.
            current: Option<Password>,
            /// The client's address, for rate limits.
            from: Option<IpAddr>,
        } -> () {
            accounts.end_session(me, which, current, from).await?;
        }

        /// Ends all sessions; requires the password, if the account has one.
        pub fn sign_out_everywhere = SignOutEverywhere {
            /// The password, if the account has one.
            current: Option<Password>,
            /// The client's address, for rate limits.
            from: Option<IpAddr>,
        } -> () {
            accounts.sign_out_everywhere(me, current, from).await?;
        }

        /// Deletes the account and returns its picture; requires the password, if the account has one.
        pub fn delete = Delete {
            /// The password, if the account has one.
            #[serde(default)]
            current: Option<Password>,
            /// The client's address, for rate limits.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> Option<PictureId> {
            accounts.delete(me, current, from).await?
        }

        /// Returns all data stored about the account.
        pub fn export = Export -> Box<Export> { Box::new(accounts.export(me).await?) }

        /// Runs a moderation command.
        pub(super) fn moderate = Moderate(command: ModerationCommand) -> Reply {
            command.answered_by(accounts, me).await?
        }

        /// Makes the caller the first admin.
        pub fn become_admin = BecomeAdmin(code: SecretText) -> Account {
            accounts.become_admin(me, &code).await?
        }

        /// Returns the linked identities.
        pub fn identities = Identities -> Vec<LinkedIdentity> { accounts.identities(me).await? }

        /// Begins linking an identity of a provider; requires the password, if the account has one.
        pub fn begin_link = BeginLink {
            /// The provider.
            provider: ProviderName,
            /// The redirect URI.
            redirect_uri: String,
            /// The password, if the account has one.
            #[serde(default)]
            current: Option<Password>,
            /// The client's address, for rate limits.
            #[serde(default)]
            from: Option<IpAddr>,
        } -> LoginRedirect {
            accounts.begin_link(me, provider, redirect_uri, current, from).await?
        }

        /// Unlinks the identity of an issuer, and ends all other sessions; requires the password, if the account has
        /// one.
        pub fn unlink = UnlinkIssuer {
            /// The issuer.
            issuer: String,
            /// The password, if the account has one.
            current: Option<Password>,
            /// The client's address, for rate limits.
            from: Option<IpAddr>,
        } -> () {
            accounts.unlink(me, issuer, current, from).await?;
        }

        /// Sets the picture, which is already stored, or removes it; also returns the previous one.
        pub fn set_picture = SetPicture(picture: Option<PictureId>) -> (Account, Option<PictureId>) {
            accounts.set_picture(me, picture).await?
        }
    }
}

impl Call {
    /// Returns the lookup of a session in the store.
    pub fn who(session: SessionDigest) -> Self {
        Self::Who { session, since: None }
    }

    /// When the call may be made again after its answer was lost.
    pub fn repetition(&self) -> Repetition {
        match self {
            Self::Who { .. }
            | Self::User(_)
            | Self::NeedsAdmin
            | Self::ChangedSince(_)
            | Self::Providers
            | Self::BeginLogin { .. }
            | Self::Pictured(_)
            | Self::StoreSecurityEvents(_)
            | Self::Existing(_)
            | Self::SignUp { idempotency_key: Some(_), .. } => Repetition::Always,
            // A second session is as good as the first, whose token is lost.
            Self::SignIn(_) => Repetition::IfDead,
            Self::Own { call, .. } => call.repetition(),
            // What they use up works once: a name, a token, a code, a ticket, or that there is no admin.
            Self::SignUp { idempotency_key: None, .. }
            | Self::RenewToken(_)
            | Self::ResetPassword { .. }
            | Self::SetUp { .. }
            | Self::CompleteLogin { .. }
            | Self::SignUpWithProvider(_) => Repetition::Never,
        }
    }

    /// Returns the client's address, if the call carries it.
    fn from(&self) -> Option<IpAddr> {
        match self {
            Self::SignIn(request) => request.from,
            Self::Own { call: OwnAccountCall::Edit(edit), .. } => edit.from,
            Self::Own {
                call:
                    OwnAccountCall::ChangePassword { from, .. }
                    | OwnAccountCall::EndSession { from, .. }
                    | OwnAccountCall::SignOutEverywhere { from, .. }
                    | OwnAccountCall::Delete { from, .. }
                    | OwnAccountCall::BeginLink { from, .. }
                    | OwnAccountCall::UnlinkIssuer { from, .. },
                ..
            } => *from,
            _ => None,
        }
    }

    /// Whether the call may leave a picture without an account.
    pub(super) fn may_take_a_picture(&self) -> bool {
        let Self::Own { call, .. } = self else { return false };
        matches!(
            call,
            OwnAccountCall::SetPicture(_)
                | OwnAccountCall::Delete { .. }
                | OwnAccountCall::Moderate(ModerationCommand::TakePicture(_))
        )
    }
}

/// When a call may be made again after its answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// In any case: it changes nothing, or has an effect once however often it is made.
    Always,
    /// If the process that had it is dead. One that hangs may run it later, after other changes.
    IfDead,
    /// Not at all: its first run may have had an effect that the second one would be refused for.
    Never,
}

impl OwnAccountCall {
    /// See [`Call::repetition`].
    fn repetition(&self) -> Repetition {
        match self {
            Self::Sessions
            | Self::Export
            | Self::Identities
            | Self::Moderate(ModerationCommand::List(_) | ModerationCommand::SecurityEvents(_)) => {
                Repetition::Always
            }
            Self::Edit(_) | Self::BeginLink { .. } => Repetition::IfDead,
            Self::Moderate(command) if !matches!(command, ModerationCommand::TakePicture(_)) => {
                Repetition::IfDead
            }
            // The former picture is known to the first run only.
            Self::Moderate(_)
            | Self::ChangePassword { .. }
            | Self::SignOut
            | Self::EndSession { .. }
            | Self::SignOutEverywhere { .. }
            | Self::Delete { .. }
            | Self::BecomeAdmin(_)
            | Self::UnlinkIssuer { .. }
            | Self::SetPicture(_) => Repetition::Never,
        }
    }
}
