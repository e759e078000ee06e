//! A channel: what was said, the box, and who is here.

use askama::Template;
use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    board::{
        Actor, Body, Channel, ClientId, Cursor, EventId, Message, MessagesQuery, NewMessage,
        Posted, Profile, Slug, Visibility,
    },
};
use serde::{Deserialize, Serialize};

use super::{MessageItem, me, sign_in_first, unread_of, wants_json};
use crate::{
    board::{BoardApp, app::slug, messages::posted},
    error::{HttpResult, Problem},
    pages::{self, errors::FormErrors, forms, go_to},
    request::{self, Asked, Parameters, Segment, Whole},
};

/// Messages on a page.
const PAGE: usize = 22;

/// Channels that the page leads to, beside those of which something is unread.
const CHANNELS_SHOWN: usize = 30;

#[derive(Template)]
#[template(path = "board/channel.html")]
pub(super) struct ChannelPage<'a> {
    pub(super) channel: &'a Channel,
    pub(super) reader: &'a Actor,
    pub(super) messages: &'a [MessageItem<'a>],
    /// The first of them, if there are older ones.
    pub(super) older: Option<EventId>,
    /// Whether these are the last of all.
    pub(super) is_newest: bool,
    pub(super) cursor: &'a Cursor,
    pub(super) people: &'a [Profile],
    pub(super) channels: &'a [ChannelRow],
    pub(super) client_id: &'a str,
    pub(super) typed: &'a str,
    /// The message that is answered.
    pub(super) answered: Option<&'a Message>,
    pub(super) errors: &'a FormErrors,
}

impl ChannelPage<'_> {
    /// How much is unread in the other channels, if anything is.
    fn unread_elsewhere(&self) -> Option<u32> {
        let others = self.channels.iter().filter(|row| row.slug != self.channel.slug);
        Some(others.map(|row| row.messages).sum()).filter(|total| *total > 0)
    }
}

/// A channel that can be gone to.
pub(super) struct ChannelRow {
    pub(super) slug: Slug,
    pub(super) messages: u32,
    pub(super) mentions: u32,
}

/// What is asked of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    before: String,
    reply: String,
}

/// What was typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PostForm {
    client_id: String,
    body: String,
    reply_to: String,
    /// Who wrote it, where that was before: somebody else may be signed in by now.
    author: String,
}

/// `GET /board`.
pub(super) async fn lobby(State(app): State<BoardApp>, asked: Asked) -> HttpResult {
    show(State(app), Segment(Slug::lobby().to_string()), Parameters(Wanted::default()), asked).await
}

/// `GET /board/{channel}`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    Segment(segment): Segment,
    Parameters(wanted): Parameters<Wanted>,
    asked: Asked,
) -> HttpResult {
    let slug = slug(&segment)?;
    let Some(me) = me(&app, &asked).await? else {
        return sign_in_first(&asked, &format!("/board/{slug}"));
    };
    let form = PostForm {
        client_id: forms::id(&*app.site.random),
        reply_to: wanted.reply,
        ..PostForm::default()
    };
    let before = forms::given(&wanted.before).map(str::parse).transpose()?;
    let view = View { before, form: &form, errors: &FormErrors::default() };
    page(&app, &me, slug, StatusCode::OK, view).await
}

/// What differs from one showing of the page to another.
struct View<'a> {
    before: Option<EventId>,
    form: &'a PostForm,
    errors: &'a FormErrors,
}

async fn page(
    app: &BoardApp,
    me: &Actor,
    slug: Slug,
    status: StatusCode,
    View { before, form, errors }: View<'_>,
) -> HttpResult {
    let board = &app.board;
    let channel = board.channel(&slug).await?;
    let is_newest = before.is_none();
    let query = MessagesQuery { channel: slug.clone(), before, limit: PAGE, reader: me.id() };
    let found = board.log.messages(query).await?;
    app.hub.seen(&slug, &me.profile);
    if is_newest {
        let noted = board.people.note_read(me.id(), slug.clone(), found.cursor.clone()).await;
        if let Err(error) = noted {
            // What can be read is shown, also where nothing can be written.
            tracing::warn!(%error, channel = %slug, "what somebody has read is not noted");
        }
    }
    let items: Vec<_> =
        found.messages.iter().map(|message| MessageItem::to(&me.profile, message)).collect();
    let answered = answered(app, me, &slug, &form.reply_to).await?;
    let page = ChannelPage {
        channel: &channel,
        reader: me,
        messages: &items,
        older: found.messages.first().filter(|_| found.more).map(|first| first.id),
        is_newest,
        cursor: &found.cursor,
        people: &app.hub.here(&slug),
        channels: &channels(app, me, &slug).await?,
        client_id: &form.client_id,
        typed: &form.body,
        answered: answered.as_ref(),
        errors,
    };
    Ok(pages::page(&app.site, status, &page)?)
}

/// The message that is to be answered, if it can be read.
async fn answered(app: &BoardApp, me: &Actor, slug: &Slug, id: &str) -> Result<Option<Message>> {
    let Ok(id) = id.parse() else { return Ok(None) };
    let message = app.board.log.message(slug.clone(), id, me.clone()).await?;
    Ok(message.filter(|message| message.visibility == Visibility::Shown))
}

async fn channels(app: &BoardApp, me: &Actor, here: &Slug) -> Result<Vec<ChannelRow>> {
    let unread = app.board.people.unread(me.profile.clone()).await?;
    let rows = app.board.channels.list().await?.into_iter().enumerate();
    let rows = rows.map(|(place, Channel { slug, .. })| {
        let (messages, mentions) = if slug == *here { (0, 0) } else { unread_of(&unread, &slug) };
        (place, ChannelRow { slug, messages, mentions })
    });
    let shown = rows.filter(|(place, row)| {
        *place < CHANNELS_SHOWN || row.messages > 0 || row.mentions > 0 || row.slug == *here
    });
    Ok(shown.map(|(_, row)| row).take(2 * CHANNELS_SHOWN).collect())
}

/// What a script is told of a message that is stored.
#[derive(Serialize)]
struct StoredJson {
    id: EventId,
}

/// `POST /board/{channel}`.
pub(super) async fn post(
    State(app): State<BoardApp>,
    Segment(segment): Segment,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    let slug = slug(&segment)?;
    let Some(me) = me(&app, &asked).await? else {
        return sign_in_first(&asked, &format!("/board/{slug}"));
    };
    let mut form: PostForm = request::form(&body)?;
    let problem = match sent(&app, &me, &slug, &form).await {
        Ok(posted) if wants_json(&asked.headers) => return Ok(stored(&posted)),
        Ok(_) => return go_to(&format!("/board/{slug}")),
        Err(problem) if wants_json(&asked.headers) => return Err(problem),
        Err(problem) => problem,
    };
    let mut errors = FormErrors::from_problem(&problem, "body");
    if problem.status == StatusCode::UNPROCESSABLE_ENTITY {
        // Another text is another message.
        form.client_id = forms::id(&*app.site.random);
        errors.whole = Some(SENT_BEFORE.to_owned());
    }
    let view = View { before: None, form: &form, errors: &errors };
    let mut response = page(&app, &me, slug, problem.status, view).await?;
    problem.say_when(response.headers_mut());
    Ok(response)
}

const SENT_BEFORE: &str =
    "Another message was sent by this form before. If this is a new one, send it again.";

async fn sent(app: &BoardApp, me: &Actor, slug: &Slug, form: &PostForm) -> Result<Posted, Problem> {
    if forms::given(&form.author).is_some_and(|author| author != me.profile.username) {
        return Err(Error::unauthenticated("somebody else is signed in by now").into());
    }
    let reply_to = forms::given(&form.reply_to).map(str::parse).transpose()?;
    let new = NewMessage {
        channel: slug.clone(),
        client_id: ClientId::parse(&form.client_id)?,
        body: Body::parse(&form.body)?,
        reply_to,
        picture: None,
    };
    posted(app, me, new).await
}

fn stored(posted: &Posted) -> Response {
    let status = match posted {
        Posted::New(_) => StatusCode::CREATED,
        Posted::Before(_) => StatusCode::OK,
    };
    (status, Json(StoredJson { id: posted.event().id })).into_response()
}
