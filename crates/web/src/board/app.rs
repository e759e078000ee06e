//! The state of the board's handlers.

use std::sync::Arc;

use lodge_domain::{
    Error, Result,
    accounts::{AccountsClient, SessionDigest, SignedIn},
    board::{Actor, BOT_PREFIX, Board, EventId, PersonId, Slug},
};

use super::{
    caller::{BoardCaller, Credential},
    hub::Hub,
    searches::Searches,
};
use crate::{
    context::{App, SiteContext},
    edge::limits::KeyedRateLimit,
    pictures::Uploads,
    request::RequestContext,
    settings::SiteSettings,
};

/// The refusal of a request without a session token or bot key.
const NO_TOKEN: Error = Error::unauthenticated(
    "send Authorization: Bearer with the token of a session (POST /api/session) or the key of a bot",
);

/// The largest request body, in bytes: enough for 2,000 characters in any JSON escaping.
pub(super) const BODY_BYTES_MAX: usize = 32 << 10;

/// The factor by which a bot's posting limit exceeds a member's.
const BOT_LIMIT_FACTOR: u32 = 10;

/// The state of the board's handlers: the site and [`Parts`].
pub(crate) type BoardApp = App<Parts>;

/// The board's services and limits.
pub(crate) struct Parts {
    pub(crate) board: Arc<Board>,
    pub(crate) accounts: AccountsClient,
    pub(crate) hub: Hub,
    pub(crate) searches: Searches,
    pub(super) uploads: Arc<Uploads>,
    member_limit: Option<KeyedRateLimit<PersonId>>,
    bot_limit: Option<KeyedRateLimit<PersonId>>,
}

impl BoardApp {
    /// Creates the app. The site must serve accounts.
    pub(crate) fn new(
        site: Arc<SiteContext>,
        board: Arc<Board>,
        accounts: AccountsClient,
        uploads: Arc<Uploads>,
        settings: &SiteSettings,
    ) -> Self {
        let per_minute = settings.posts_per_minute;
        let hub = Hub::new(
            Arc::clone(&board),
            accounts.clone(),
            Arc::clone(&site.clock),
            settings.connections_max,
            site.shutdown.clone(),
        );
        let parts = Parts {
            member_limit: KeyedRateLimit::per_minute(per_minute),
            bot_limit: KeyedRateLimit::per_minute(per_minute.saturating_mul(BOT_LIMIT_FACTOR)),
            searches: Searches::new(Arc::clone(&board)),
            board,
            accounts,
            hub,
            uploads,
        };
        Self::on(site, parts)
    }

    /// Authenticates the caller by the session token or bot key in `Authorization: Bearer`; [`Error::Forbidden`] if
    /// the caller is banned.
    pub(crate) async fn authenticate(&self, asked: &RequestContext) -> Result<BoardCaller> {
        match asked.bearer() {
            Some(token) if token.starts_with(BOT_PREFIX) => {
                let bot = self.board.bots().authenticate(token).await?;
                let actor = Actor::of_bot(&bot);
                self.board.admit(&actor.profile).await?;
                Ok(BoardCaller { actor, credential: Credential::Bot(bot.id) })
            }
            token => {
                let session = token.and_then(SessionDigest::of_token).ok_or(NO_TOKEN)?;
                self.admit_account(&self.accounts.who(session).await?, session).await
            }
        }
    }

    /// Admits a signed-in account; [`Error::Forbidden`] if it is banned.
    pub(crate) async fn admit_account(
        &self,
        me: &SignedIn,
        session: SessionDigest,
    ) -> Result<BoardCaller> {
        let mut actor = Actor::of(&me.account);
        if !self.board.admit(&actor.profile).await? {
            // A cached session may hold an older state of the account.
            actor = Actor::of(&self.accounts.user(me.account.username.clone()).await?);
            self.board.save_profile(actor.profile.clone()).await?;
        }
        Ok(BoardCaller { actor, credential: Credential::Session(session) })
    }

    /// Counts one write against the sender's rate limit; [`Error::TooMany`] with the time to wait past it.
    pub(crate) fn check_rate(&self, by: &Actor) -> Result<()> {
        let shares = if by.profile.is_bot() { &self.bot_limit } else { &self.member_limit };
        shares.as_ref().map_or(Ok(()), |shares| shares.take_one(by.id()))
    }
}

/// Parses the channel in a path.
pub(crate) fn slug(text: &str) -> Result<Slug> {
    Slug::parse(text).map_err(|_| Error::not_found("there is no such channel"))
}

/// Parses the message id in `field`.
pub(super) fn message_id_of_field(field: &'static str, text: &str) -> Result<EventId> {
    text.parse().map_err(|_| Error::invalid(field, "must be the id of a message, such as 7:42"))
}

/// Parses the message id in a path.
pub(crate) fn message_id(text: &str) -> Result<EventId> {
    text.parse().map_err(|_| Error::not_found("there is no such message"))
}
