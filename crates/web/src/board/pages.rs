//! The board as people see it.

mod bans;
mod channel;
mod channels;
mod hidden;
mod live;
mod message;
mod one;
mod reports;
#[cfg(test)]
mod samples;
mod search;

use std::borrow::{Borrow, Cow};

use http::{HeaderMap, Method, header};
use lodge_domain::{
    Error, Result,
    accounts::{PictureId, PictureSize, Role},
    board::{
        Actor, Body, EventId, Message, Profile, Quote, Slug, Stamp, UNREAD_MAX, Unread, Visibility,
        html,
    },
};

pub(super) use self::message::MessageItem;
use super::{BODY_BYTES_MAX, BoardApp, app::Visitor};
use crate::{
    accounts::picture_path,
    error::{HttpResult, Problem},
    pages::{go_to, words},
    request::Asked,
    routes::Routes,
    session,
};

const SIGNED_OUT: Error = Error::unauthenticated("you are signed out: sign in, and try again");

/// People whose names a page shows.
const PEOPLE_SHOWN: usize = 50;

/// Characters of a message that another one answers.
const QUOTE_CHARS: usize = 80;

/// Routes of the pages.
pub(super) fn routes() -> Routes<BoardApp> {
    const ONE: &str = "/board/{channel}/m/{message}";
    Routes::default()
        .on(Method::GET, "/board", channel::lobby)
        .on(Method::GET, "/board/{channel}", channel::show)
        .on(Method::POST, "/board/{channel}", channel::post)
        .on(Method::GET, "/board/{channel}/live", live::stream)
        .on(Method::GET, "/board/{channel}/since", live::since)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/{channel}/read", live::note_read)
        .on(Method::GET, ONE, one::show)
        .on_within(BODY_BYTES_MAX, Method::POST, ONE, one::change)
        .on(Method::GET, "/board/{channel}/search", search::show)
        .on(Method::GET, "/board/-/unread", live::unread)
        .on(Method::GET, "/board/-/channels", channels::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/channels", channels::save)
        .on(Method::GET, "/board/-/reports", reports::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/reports", reports::settle)
        .on(Method::GET, "/board/-/hidden", hidden::show)
        .on(Method::GET, "/board/-/bans", bans::show)
        .on_within(BODY_BYTES_MAX, Method::POST, "/board/-/bans", bans::change)
}

/// Routes of the start page, where no other app has one.
pub(crate) fn start() -> Routes<BoardApp> {
    Routes::default().on(Method::GET, "/", channel::lobby)
}

/// Who reads, if somebody with an account is signed in.
async fn visitor(app: &BoardApp, asked: &Asked) -> Result<Option<Visitor>, Problem> {
    let Some(session) = session::of_account(asked) else { return Ok(None) };
    let Some(me) = session::account(&app.site, session).await? else { return Ok(None) };
    Ok(Some(app.signed_in(&me, session).await?))
}

/// The same, who must be.
pub(super) async fn reader(app: &BoardApp, asked: &Asked) -> Result<Visitor, Problem> {
    let visitor = visitor(app, asked).await?;
    visitor.ok_or(Error::unauthenticated("you are signed out").into())
}

async fn me(app: &BoardApp, asked: &Asked) -> Result<Option<Actor>, Problem> {
    Ok(visitor(app, asked).await?.map(|visitor| visitor.actor))
}

/// The same of whoever keeps order.
async fn staff(app: &BoardApp, asked: &Asked) -> Result<Option<Actor>, Problem> {
    let me = me(app, asked).await?;
    me.iter().try_for_each(Actor::check_staff)?;
    Ok(me)
}

/// Leads to signing in, and then to `path`; a program is told that it must.
fn sign_in_first(asked: &Asked, path: &str) -> HttpResult {
    if wants_json(&asked.headers) {
        return Err(SIGNED_OUT.into());
    }
    go_to(&format!("/login?next={path}"))
}

fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}

/// Where a message has its own page.
fn path_to(channel: &Slug, message: EventId) -> String {
    format!("/board/{channel}/m/{message}")
}

/// What is unread of a channel.
fn unread_of(unread: &[Unread], slug: &Slug) -> (u32, u32) {
    let found = unread.iter().find(|unread| unread.channel == *slug);
    found.map_or((0, 0), |unread| (unread.messages, unread.mentions))
}

/// A number that is not counted further than [`UNREAD_MAX`].
fn counted(number: impl Borrow<u32>) -> Cow<'static, str> {
    let number = *number.borrow();
    if number >= UNREAD_MAX { "99+".into() } else { number.to_string().into() }
}

/// Where their picture is.
fn face(who: &Profile) -> Option<String> {
    who.picture.map(|id| picture_path(id, PictureSize::Small))
}

/// What stands where a picture would.
fn initial(who: &Profile) -> String {
    let first = if who.username.is_empty() { None } else { who.nickname.chars().next() };
    first.map_or_else(|| "?".to_owned(), |first| first.to_uppercase().collect())
}

/// What they are called.
fn name(who: &Profile) -> &str {
    if who.username.is_empty() { quoted("") } else { &who.nickname }
}

/// By what their account is known, where that is something else than what they call themselves.
fn handle(who: &Profile) -> Option<&str> {
    (who.username != who.nickname).then_some(&*who.username)
}

/// What they are beside a member, in short.
fn mark(who: &Profile) -> Option<&'static str> {
    match who.role {
        _ if who.is_bot() => Some("BOT"),
        Role::Member => None,
        Role::Moderator => Some("MOD"),
        Role::Admin => Some("ADMIN"),
    }
}

fn quoted(nickname: &str) -> &str {
    if nickname.is_empty() { "somebody who left" } else { nickname }
}

/// By what a script knows whose a name is: an account and a bot can have the same.
fn key(who: &Profile) -> Cow<'_, str> {
    if who.is_bot() { format!("bot:{}", who.username).into() } else { (&who.username).into() }
}

fn beginning(quote: &Quote) -> String {
    match &quote.body {
        None => "a message that cannot be read".to_owned(),
        Some(body) => in_one_line(body),
    }
}

fn beginning_of(message: &Message) -> String {
    message.body.as_ref().map_or_else(String::new, in_one_line)
}

fn in_one_line(body: &Body) -> String {
    if body.is_empty() {
        return "a picture".to_owned();
    }
    let words = body.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
    words::shortened(&words, QUOTE_CHARS)
}

/// Where the picture of a message is.
pub(super) fn picture_of(id: impl Borrow<PictureId>, size: PictureSize) -> String {
    format!("/board/-/pictures/{}/{}", id.borrow(), size.px())
}

/// What a message says, or why it says nothing.
fn said(message: &Message) -> Result<String, &'static str> {
    match (&message.body, message.visibility) {
        (_, Visibility::Deleted) => Err("This message was deleted."),
        (None, _) => Err("This message is hidden."),
        (Some(body), _) if body.is_empty() && message.picture.is_none() => {
            Err("The picture of this message is gone.")
        }
        (Some(body), _) if body.is_empty() => Ok(String::new()),
        (Some(body), _) => Ok(html(body.as_str())),
    }
}

/// When, in full.
fn moment(at: impl Borrow<Stamp>) -> String {
    words::moment(&at.borrow().timestamp())
}

/// When, in short.
fn minute(at: impl Borrow<Stamp>) -> String {
    words::minute(&at.borrow().timestamp())
}

/// A name as a part of a query.
fn path_of(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}
