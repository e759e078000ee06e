//! The page of a channel: messages, the form to post, and the members in the channel.

use askama::Template;
use axum::{
    Json,
    body::Body as RequestBody,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    board::{
        Actor, Channel, Cursor, EventId, Message, MessageRange, MessagesPage, MessagesQuery,
        Posted, Profile, ReadPosition, Slug, Unread, Visibility,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    message::MessageItem,
    signed_in::{require_sign_in, signed_in_actor, wants_json},
    words::{day_of, unread_of},
};
use crate::{
    board::{
        app::{BoardApp, message_id_of_field, slug},
        submission::{Submission, SubmittedBody, store_message},
    },
    error::{HttpResult, Problem},
    pages::{self, errors::FormErrors, forms, redirect_to},
    pictures::PictureMax,
    request::{self, PathParam, QueryParams, RequestContext},
};

/// Messages on a page.
const PAGE: usize = 50;

/// The channels listed on the page, beside those with unread messages.
const CHANNELS_SHOWN: usize = 30;

#[derive(Template)]
#[template(path = "board/channel.html")]
pub(super) struct ChannelPage<'a> {
    pub(super) channel: &'a Channel,
    pub(super) reader: &'a Actor,
    pub(super) messages: &'a [MessageItem<'a>],
    /// The first message of the page, if there are older ones.
    pub(super) older: Option<EventId>,
    /// The last message of the page, if there are newer ones.
    pub(super) newer: Option<EventId>,
    /// Whether this is the newest page.
    pub(super) is_newest: bool,
    /// The first message since the reader's last visit; `None` without one.
    pub(super) first_new: Option<EventId>,
    pub(super) cursor: &'a Cursor,
    pub(super) people: &'a [Profile],
    /// The listed channels with their unread counts.
    pub(super) channels: &'a [Unread],
    /// The number of open reports; 0 for members.
    pub(super) reports: u32,
    pub(super) picture_max: &'a PictureMax,
    pub(super) client_id: &'a str,
    pub(super) typed: &'a str,
    /// The message that the form replies to.
    pub(super) answered: Option<&'a Message>,
    pub(super) errors: &'a FormErrors,
}

impl ChannelPage<'_> {
    fn is_first_new(&self, item: &MessageItem<'_>) -> bool {
        self.first_new == Some(item.message.id)
    }

    /// Returns the day of a message, if it is the first message of that day on the page.
    fn first_of_day(&self, index: usize) -> Option<String> {
        let day = |index: usize| self.messages.get(index).map(|item| day_of(item.message.at));
        let before = index.checked_sub(1).and_then(day);
        let day = day(index).filter(|day| before != Some(*day))?;
        Some(day.strftime("%-d %B %Y").to_string())
    }

    /// Returns the sums of the unread counts of all other channels.
    fn elsewhere(&self) -> Unread {
        let others = self.channels.iter().filter(|row| row.channel != self.channel.slug);
        let sum = |count: fn(&Unread) -> u32| others.clone().map(count).sum::<u32>();
        Unread {
            channel: self.channel.slug.clone(),
            messages: sum(|row| row.messages),
            mentions: sum(|row| row.mentions),
        }
    }

    /// Returns the scripts of the page: the first one imports the others. Only the newest page is live.
    fn scripts(&self) -> &'static [&'static str] {
        match (self.channel.is_archived, self.is_newest) {
            (true, _) => &ARCHIVE_SCRIPTS,
            (false, true) => &LIVE_SCRIPTS,
            (false, false) => &OLDER_SCRIPTS,
        }
    }
}

const ARCHIVE_SCRIPTS: [&str; 2] = ["board_list.js", "board_page.js"];

const OLDER_SCRIPTS: [&str; 5] =
    ["board_older.js", "board_list.js", "board_composer.js", "board_names.js", "board_page.js"];

const LIVE_SCRIPTS: [&str; 11] = [
    "board.js",
    "board_stream.js",
    "board_actions.js",
    "board_list.js",
    "board_outbox.js",
    "board_composer.js",
    "board_names.js",
    "board_people.js",
    "board_reading.js",
    "board_unread.js",
    "board_page.js",
];

/// The query of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelQuery {
    before: String,
    after: String,
    around: String,
    reply: String,
}

impl ChannelQuery {
    /// Returns the messages to show.
    fn range(&self) -> Result<MessageRange> {
        type Range = fn(EventId) -> MessageRange;
        let ranges: [(_, _, Range); 3] = [
            ("around", &self.around, MessageRange::Around),
            ("before", &self.before, MessageRange::Before),
            ("after", &self.after, MessageRange::After),
        ];
        let given = ranges.into_iter().find(|(_, id, _)| !id.is_empty());
        given.map_or(Ok(MessageRange::Newest), |(name, id, range)| {
            message_id_of_field(name, id).map(range)
        })
    }
}

/// A submitted message without a picture.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PostForm {
    client_id: String,
    body: String,
    reply_to: String,
    /// The account that was signed in when the message was typed; another one may be signed in now.
    author: String,
}

/// `GET /board`.
pub(super) async fn lobby(State(app): State<BoardApp>, asked: RequestContext) -> HttpResult {
    show(
        State(app),
        PathParam(Slug::lobby().to_string()),
        QueryParams(ChannelQuery::default()),
        asked,
    )
    .await
}

/// `GET /board/{channel}`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    QueryParams(wanted): QueryParams<ChannelQuery>,
    asked: RequestContext,
) -> HttpResult {
    let slug = slug(&segment)?;
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        return require_sign_in(&asked, &format!("/board/{slug}"));
    };
    let range = wanted.range()?;
    let form = Submission {
        client_id: forms::id(&*app.site.random),
        reply_to: wanted.reply,
        ..Submission::default()
    };
    page(&app, &me, slug, range, &form, &FormErrors::default()).await
}

async fn page(
    app: &BoardApp,
    me: &Actor,
    slug: Slug,
    range: MessageRange,
    form: &Submission,
    errors: &FormErrors,
) -> HttpResult {
    let board = &app.board;
    let channel = board.channel(&slug).await?;
    let query = MessagesQuery { channel: slug.clone(), range, limit: PAGE, reader: me.id() };
    let found = board.messages(query).await?;
    let is_newest = !found.has_newer;
    if is_newest && found.messages.is_empty() && range != MessageRange::Newest {
        return redirect_to(&format!("/board/{slug}"));
    }
    app.hub.record_activity(&slug, &me.profile);
    let mut first_new = None;
    if is_newest {
        let had = board.read_cursor(me.id(), slug.clone()).await?;
        first_new = had.and_then(|had| first_new_of(&found, &had, me));
        let (channel, cursor) = (slug.clone(), found.cursor.clone());
        let noted = board.mark_read(ReadPosition { person: me.id(), channel, cursor });
        if let Err(error) = noted {
            tracing::warn!(%error, channel = %slug, "the read position is not stored");
        }
    }
    let item = |(index, message): (usize, _)| {
        let before = index.checked_sub(1).and_then(|index| found.messages.get(index));
        MessageItem::to(&me.profile, message).closed(channel.is_archived).after(before)
    };
    let items: Vec<_> = found.messages.iter().enumerate().map(item).collect();
    let answered = answered(app, me, &slug, &form.reply_to).await?;
    let page = ChannelPage {
        channel: &channel,
        reader: me,
        messages: &items,
        older: found.messages.first().filter(|_| found.more).map(|first| first.id),
        newer: found.messages.last().filter(|_| found.has_newer).map(|last| last.id),
        is_newest,
        first_new,
        cursor: &found.cursor,
        people: &app.hub.people(&slug).list,
        channels: &channels(app, me, &slug).await?,
        reports: if me.is_staff() { board.reports_count(me).await? } else { 0 },
        picture_max: &app.uploads.max(),
        client_id: &form.client_id,
        typed: &form.body,
        answered: answered.as_ref(),
        errors,
    };
    pages::form_page(&app.site, errors, &page)
}

/// Returns the reader's first unread message by another author; `None` if an earlier page may have an older one.
fn first_new_of(page: &MessagesPage, had: &Cursor, reader: &Actor) -> Option<EventId> {
    let is_new = |message: &Message| !had.has(message.id) && message.by.person != reader.id();
    let place = page.messages.iter().position(is_new)?;
    (place > 0 || !page.more).then(|| page.messages[place].id)
}

/// Returns the message to reply to, if it is readable.
async fn answered(app: &BoardApp, me: &Actor, slug: &Slug, id: &str) -> Result<Option<Message>> {
    let Ok(id) = id.parse() else { return Ok(None) };
    let message = app.board.find(me, slug, id).await?;
    Ok(message.filter(|message| message.visibility == Visibility::Shown))
}

async fn channels(app: &BoardApp, me: &Actor, here: &Slug) -> Result<Vec<Unread>> {
    let unread = app.board.unread(me.profile.clone()).await?;
    let open = |channel: &Channel| !channel.is_archived || channel.slug == *here;
    let rows = app.board.channels().await?.into_iter().filter(open).enumerate();
    let rows = rows.map(|(place, Channel { slug, .. })| {
        (place, unread_of(if slug == *here { &[] } else { &unread }, &slug))
    });
    let shown = rows.filter(|(place, row)| {
        *place < CHANNELS_SHOWN || row.messages > 0 || row.mentions > 0 || row.channel == *here
    });
    Ok(shown.map(|(_, row)| row).take(2 * CHANNELS_SHOWN).collect())
}

/// The response to a script that posted a message.
#[derive(Serialize)]
struct StoredJson {
    id: EventId,
}

/// `POST /board/{channel}`.
pub(super) async fn post(
    State(app): State<BoardApp>,
    PathParam(segment): PathParam,
    asked: RequestContext,
    body: RequestBody,
) -> HttpResult {
    let slug = slug(&segment)?;
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        return require_sign_in(&asked, &format!("/board/{slug}"));
    };
    let mut form = read_submission(&app, &asked, body).await?;
    let problem = match store_form(&app, &me, &slug, &mut form).await {
        Ok(posted) if wants_json(&asked.headers) => return Ok(stored(&posted)),
        // To the message, so that it is in view without scripts, too.
        Ok(posted) => return redirect_to(&format!("/board/{slug}#m{}", posted.event().id)),
        Err(problem) if wants_json(&asked.headers) => return Err(problem),
        Err(problem) => problem,
    };
    let mut errors = FormErrors::of_problem(problem, "body");
    if errors.status() == StatusCode::UNPROCESSABLE_ENTITY {
        // The text differs from the one sent with this id: it is a new message.
        form.client_id = forms::id(&*app.site.random);
        errors.whole = Some(SENT_BEFORE.to_owned());
    }
    page(&app, &me, slug, MessageRange::Newest, &form, &errors).await
}

const SENT_BEFORE: &str =
    "This form has already sent another message. If this one is new, send it again.";

async fn read_submission(
    app: &BoardApp,
    asked: &RequestContext,
    body: RequestBody,
) -> Result<Submission, Problem> {
    match SubmittedBody::read(app, asked, body).await? {
        SubmittedBody::Form(letter) => Ok(letter),
        SubmittedBody::Text(body) => {
            let PostForm { client_id, body, reply_to, author } = request::form(&body.bytes)?;
            Ok(Submission { client_id, body, reply_to, author, picture: None })
        }
    }
}

async fn store_form(
    app: &BoardApp,
    me: &Actor,
    slug: &Slug,
    form: &mut Submission,
) -> Result<Posted, Problem> {
    if forms::non_empty(&form.author).is_some_and(|author| author != me.profile.username) {
        return Err(Error::unauthenticated("another account is signed in now").into());
    }
    let new = form.message(slug.clone())?;
    store_message(app, me, new, form.picture.take()).await
}

fn stored(posted: &Posted) -> Response {
    let status = match posted {
        Posted::New(_) => StatusCode::CREATED,
        Posted::Repeated(_) => StatusCode::OK,
    };
    (status, Json(StoredJson { id: posted.event().id })).into_response()
}
