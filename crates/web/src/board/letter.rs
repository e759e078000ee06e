//! A message on its way to the board: text alone, or a form with a picture.

use axum::body::{Body as RequestBody, HttpBody as _};
use lodge_domain::{
    Error,
    board::{Actor, Body, ClientId, NewMessage, Posted, Slug},
};

use super::app::{BODY_BYTES_MAX, BoardApp, message_named};
use crate::{
    body::{Held, Whole},
    error::Problem,
    multipart::{Form, is_form},
    request::Asked,
};

/// The name of the field with the file.
const PICTURE: &str = "picture";

/// The fields beside it. Who wrote it pages say alone, where that was before.
const TEXTS: [&str; 4] = ["client_id", "body", "reply_to", "author"];

/// What somebody sends, as they sent it.
#[derive(Default)]
pub(super) struct Letter<'a> {
    pub(super) client_id: String,
    pub(super) body: String,
    /// Nothing, if it is no answer.
    pub(super) reply_to: String,
    pub(super) author: String,
    pub(super) picture: Option<Held<'a>>,
}

/// A request's body.
pub(super) enum Sent<'a> {
    /// A form that can hold a file.
    Form(Letter<'a>),
    /// Something else.
    Text(Held<'a>),
}

impl<'a> Sent<'a> {
    /// Reads the body of a request. One that may be long, as only one with a picture is, takes one from the address's
    /// share of pictures before it is read.
    pub(super) async fn read(
        app: &'a BoardApp,
        asked: &Asked,
        body: RequestBody,
    ) -> Result<Self, Problem> {
        let is_short = body.size_hint().upper().is_some_and(|most| most <= BODY_BYTES_MAX as u64);
        if !is_form(&asked.headers) || is_short {
            let read = Whole::up_to(BODY_BYTES_MAX, &app.site, body, &app.site.body_room).await?;
            if !is_form(&asked.headers) {
                return Ok(Self::Text(read));
            }
            let letter = Letter::of_form(app, asked, read).await?;
            if letter.picture.is_some() {
                app.uploads.admit(asked.client)?;
            }
            return Ok(Self::Form(letter));
        }
        app.uploads.admit(asked.client)?;
        let read = app.uploads.read(asked.client, body, BODY_BYTES_MAX).await?;
        Ok(Self::Form(Letter::of_form(app, asked, read).await?))
    }
}

impl<'a> Letter<'a> {
    async fn of_form(
        app: &'a BoardApp,
        asked: &Asked,
        mut body: Held<'a>,
    ) -> Result<Self, Problem> {
        let (bytes, bytes_max) = (body.bytes.clone(), app.uploads.bytes_max());
        let form = Form::read(&asked.headers, bytes, &TEXTS, PICTURE, bytes_max).await;
        let mut form = form.map_err(|error| match error {
            multer::Error::FieldSizeExceeded { field_name: Some(name), .. } if name == PICTURE => {
                app.uploads.too_long()
            }
            error => Error::invalid("form", format!("cannot be read: {error}")).into(),
        })?;
        // A browser sends an empty one where none was chosen.
        let picture = form.file.take().filter(|file| !file.is_empty()).map(|file| {
            body.bytes = file;
            body
        });
        Ok(Self {
            client_id: form.take("client_id"),
            body: form.take("body"),
            reply_to: form.take("reply_to"),
            author: form.take("author"),
            picture,
        })
    }

    /// The message that it is, in this channel.
    pub(super) fn message(&self, channel: Slug) -> Result<NewMessage, Error> {
        let reply_to = Some(self.reply_to.as_str()).filter(|id| !id.is_empty());
        let reply_to = reply_to.map(|id| message_named("reply_to", id)).transpose();
        let parse = if self.picture.is_some() { Body::beside_picture } else { Body::parse };
        Ok(NewMessage {
            channel,
            client_id: ClientId::parse(&self.client_id)?,
            body: parse(&self.body)?,
            reply_to: reply_to?,
            picture: None,
        })
    }
}

/// Stores a message within its author's share.
pub(super) async fn posted(
    app: &BoardApp,
    by: &Actor,
    new: NewMessage,
    upload: Option<Held<'_>>,
) -> Result<Posted, Problem> {
    app.limit(by)?;
    let posted = match upload {
        Some(upload) => with_picture(app, by, new, upload).await,
        None => app.board.post(by, new).await,
    };
    posted.map_err(|error| match error {
        Error::KeyReused => {
            let detail = "was given to another message before; make a new one for each".to_owned();
            Problem { detail, field: Some("client_id".into()), ..error.into() }
        }
        Error::TooMany { retry_after } => {
            let seconds = retry_after.as_secs().max(1);
            let detail =
                format!("this channel is in slow mode; you can write again in {seconds} s");
            Problem { detail, ..error.into() }
        }
        error => error.into(),
    })
}

/// The upload is let go of as soon as it is decoded, which it is only for a message that may be written and is new.
async fn with_picture(
    app: &BoardApp,
    by: &Actor,
    new: NewMessage,
    upload: Held<'_>,
) -> Result<Posted, Error> {
    if let Some(before) = app.board.foresee(by, &new).await? {
        return Ok(Posted::Before(before));
    }
    let picture = app.board.decoded(upload.bytes.clone()).await?;
    drop(upload);
    app.board.post_with(by, new, picture).await
}
