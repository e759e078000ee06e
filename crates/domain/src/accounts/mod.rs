//! Accounts: sign-up, sign-in, sessions, roles, and the port to the accounts tier.

mod account;
mod account_deletion;
mod authorization_state;
mod backend;
mod breached;
mod client;
mod device;
mod email;
mod event;
mod event_record;
mod identity;
mod me;
mod moderation;
mod new_password;
mod nickname;
mod password_context;
mod pictures;
mod provider;
mod provider_login;
mod reply;
mod security_events;
mod service;
mod session;
mod session_copies;
mod setup;
mod sign_in;
mod sign_up;
mod staff;
mod store;
mod username;

pub use self::{
    account::{
        Account, AccountChange, AccountId, AccountQuery, Credential, NewAccount, Reset, Role,
    },
    account_deletion::{AccountDeletion, OwnedByAccount},
    authorization_state::AUTHORIZATION_LIFETIME,
    backend::{Backend, Call, OwnAccountCall, RecordedCalls, Repetition},
    breached::BreachedPasswords,
    client::AccountsClient,
    device::DEVICE_LIFETIME,
    email::Email,
    event::{AccountEvent, AccountEventKind, Actor},
    identity::{
        Identity, IdentityStore, Linked, LinkedIdentity, NewTicket, Redeemed, TicketDigest, Unlink,
        Unlinked,
    },
    me::{ACCOUNTS_PER_CALL_MAX, Export, ProfileChange},
    moderation::ModerationCommand,
    new_password::NewPassword,
    nickname::Nickname,
    password_context::PasswordContext,
    pictures::{Pictures, WithPictures},
    provider::{
        Authenticated, AuthorizationRequest, AuthorizationSecrets, CodeExchange, LoginCallback,
        LoginRedirect, NO_PROVIDER, NoProviders, Provider, ProviderName, ProviderUser, Providers,
    },
    provider_login::{LoginOutcome, ProviderSignUp, TICKET_LIFETIME},
    reply::Reply,
    security_events::{NamedSecurityEvent, SecurityEventFilter},
    service::{Accounts, AccountsPorts, AccountsSettings, FreshSession},
    session::{EndSessions, NewSession, Session, SessionDigest, SessionId, SignedIn, TOKEN_PREFIX},
    session_copies::SessionCopies,
    sign_in::SignIn,
    sign_up::{SignUp, TAKEN},
    staff::{EventWithStaff, ImportAccount},
    store::{AccountStore, FeedPage, FeedPosition, SessionStore, SignUpOutcome},
    username::{SKELETON_CHARS_MAX, Username},
};
pub use crate::pictures::{
    PICTURES_PER_CALL_MAX, Picture, PictureDecoder, PictureId, PictureKeeper, PictureOwners,
    PictureSize, PictureStore, Shape,
};
