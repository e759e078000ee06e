//! Accounts: sign-up, sign-in, sessions, roles, and the port to the accounts tier.

mod account;
mod backend;
mod by_provider;
mod client;
mod email;
mod event;
mod failures;
mod identity;
mod journey;
mod leavers;
mod me;
mod new_password;
mod nickname;
mod order;
mod pictures;
mod provider;
mod reply;
mod service;
mod session;
mod sign_in;
mod sign_up;
mod staff;
mod store;
mod username;

pub use self::{
    account::{
        Account, AccountChange, AccountId, AccountQuery, Credential, NewAccount, Reset, Role,
    },
    backend::{Backend, Call, Own},
    by_provider::{Newcomer, TICKET_LIFETIME, Welcome},
    client::AccountsClient,
    email::Email,
    event::{Actor, Event, EventKind},
    failures::{Failures, PER_ADDRESS_MAX, PER_NAME_MAX, WINDOW},
    identity::{
        Identity, IdentityStore, Linked, LinkedIdentity, NewTicket, Redeemed, TicketDigest, Unlink,
        Unlinked,
    },
    journey::JOURNEY_LIFETIME,
    leavers::{Belongings, Leavers},
    me::{ACCOUNTS_ASKED, Edit, Export},
    new_password::NewPassword,
    nickname::Nickname,
    order::Order,
    pictures::{Pictures, WithPictures},
    provider::{
        Arrival, Departure, Exchange, Flow, Identified, NO_PROVIDER, NoProviders, Provider,
        ProviderName, Providers,
    },
    reply::Reply,
    service::{Accounts, AccountsPorts, AccountsSettings, FreshSession},
    session::{Ending, NewSession, Session, SessionDigest, SessionId, SignedIn, TOKEN_PREFIX},
    sign_in::SignIn,
    sign_up::SignUp,
    staff::{ImportAccount, ToldEvent},
    store::{AccountStore, Changed, FeedPlace, Outcome, SessionStore},
    username::Username,
};
pub use crate::pictures::{
    PICTURES_ASKED, Picture, PictureDecoder, PictureId, PictureKeeper, PictureSize, PictureStore,
    Pictured, Shape,
};
