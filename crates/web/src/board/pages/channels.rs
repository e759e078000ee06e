//! The page of all channels, with a form for staff that creates and edits them.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    board::{Actor, Channel, ChannelChange, Slug, Topic, Unread},
};
use serde::Deserialize;

use super::{
    signed_in::{require_sign_in, signed_in_actor, signed_in_staff},
    words::unread_of,
};
use crate::{
    board::app::BoardApp,
    body::FullBody,
    error::HttpResult,
    pages::{self, errors::FormErrors, forms, redirect_to},
    request::{self, QueryParams, RequestContext},
};

#[derive(Template)]
#[template(path = "board/channels.html")]
pub(super) struct ChannelsPage<'a> {
    pub(super) rows: &'a [Row],
    pub(super) archived: &'a [Row],
    pub(super) is_staff: bool,
    pub(super) form: &'a ChannelForm,
    pub(super) errors: &'a FormErrors,
    pub(super) notice: Option<&'static str>,
}

/// A channel and its unread counts.
pub(super) struct Row {
    pub(super) channel: Channel,
    pub(super) unread: Unread,
}

/// The submitted form, each field as text.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ChannelForm {
    pub(super) channel: String,
    pub(super) topic: String,
    pub(super) slow_mode_s: String,
    pub(super) archived: String,
    /// Not empty to edit an existing channel, whose name cannot change.
    pub(super) changes: String,
}

/// The query: the channel to edit, and `saved` after a change.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelsQuery {
    channel: String,
    saved: Option<String>,
}

const PATH: &str = "/board/-/channels";

/// `GET /board/-/channels`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    QueryParams(wanted): QueryParams<ChannelsQuery>,
    asked: RequestContext,
) -> HttpResult {
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let (rows, archived) = rows(&app, &me).await?;
    let form = rows
        .iter()
        .chain(&archived)
        .find(|row| row.channel.slug.as_str() == wanted.channel)
        .map(filled_in);
    let page = ChannelsPage {
        rows: &rows,
        archived: &archived,
        is_staff: me.is_staff(),
        form: &form.unwrap_or_default(),
        errors: &FormErrors::default(),
        notice: wanted.saved.map(|_| "Saved."),
    };
    pages::page(&app.site, StatusCode::OK, &page)
}

fn filled_in(Row { channel, .. }: &Row) -> ChannelForm {
    ChannelForm {
        channel: channel.slug.to_string(),
        topic: channel.topic.as_str().to_owned(),
        slow_mode_s: channel.slow_mode_s.to_string(),
        archived: if channel.is_archived { "yes".to_owned() } else { String::new() },
        changes: "yes".to_owned(),
    }
}

/// Returns the open and the archived channels.
async fn rows(app: &BoardApp, me: &Actor) -> Result<(Vec<Row>, Vec<Row>)> {
    let unread = app.board.unread(me.profile.clone()).await?;
    let channels = app.board.channels().await?.into_iter();
    let row = |channel: Channel| Row { unread: unread_of(&unread, &channel.slug), channel };
    Ok(channels.map(row).partition(|row| !row.channel.is_archived))
}

/// `POST /board/-/channels`.
pub(super) async fn save(
    State(app): State<BoardApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = signed_in_staff(&app, &asked).await? else {
        return require_sign_in(&asked, PATH);
    };
    let form: ChannelForm = request::form(&body)?;
    let Err(error) = saved(&app, &me, &form).await else {
        return redirect_to(&format!("{PATH}?saved"));
    };
    let errors = FormErrors::of_refusal(error, "channel")?;
    let (rows, archived) = rows(&app, &me).await?;
    let page = ChannelsPage {
        rows: &rows,
        archived: &archived,
        is_staff: true,
        form: &form,
        errors: &errors,
        notice: None,
    };
    pages::form_page(&app.site, &errors, &page)
}

async fn saved(app: &BoardApp, me: &Actor, form: &ChannelForm) -> Result<()> {
    let (slug, topic) = (Slug::parse(&form.channel)?, Topic::parse(&form.topic)?);
    let slow_mode_s = forms::non_empty(&form.slow_mode_s).map_or(Ok(0), str::parse);
    let slow_mode_s = slow_mode_s.map_err(|_| {
        Error::invalid("slow_mode_s", "must be a whole number of seconds, 0 to 21600")
    })?;
    let change = ChannelChange {
        topic: Some(topic.clone()),
        slow_mode_s: Some(slow_mode_s),
        is_archived: Some(!form.archived.is_empty()),
    };
    let change = change.checked()?;
    if form.changes.is_empty() {
        let (_, is_new) = app.board.create_channel(me, slug.clone(), topic).await?;
        if !is_new {
            return Err(Error::invalid("channel", "is taken; edit the channel in the list above"));
        }
    }
    app.board.change_channel(me, &slug, change).await.map(drop)
}
