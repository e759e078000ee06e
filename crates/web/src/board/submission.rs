//! Reading and storing a submitted message: text only, or a form with a picture.

use axum::body::{Body as RequestBody, HttpBody as _};
use lodge_domain::{
    Error,
    board::{Actor, Body, ClientId, NewMessage, Posted, Slug},
};

use super::app::{BODY_BYTES_MAX, BoardApp, message_id_of_field};
use crate::{
    body::{BufferedBody, FullBody},
    body_budget::BodySender,
    error::Problem,
    multipart::{MultipartForm, is_form},
    request::RequestContext,
};

/// The form field with the file.
const PICTURE_FIELD: &str = "picture";

/// The text fields. Only pages send `author`: the account that was signed in when the message was typed.
const TEXT_FIELDS: [&str; 4] = ["client_id", "body", "reply_to", "author"];

/// A submitted message, not yet parsed.
#[derive(Default)]
pub(super) struct Submission {
    pub(super) client_id: String,
    pub(super) body: String,
    /// Empty unless the message is a reply.
    pub(super) reply_to: String,
    pub(super) author: String,
    pub(super) picture: Option<BufferedBody>,
}

/// A request's body.
pub(super) enum SubmittedBody {
    /// A multipart form, which may contain a file.
    Form(Submission),
    /// Any other body, unparsed.
    Text(BufferedBody),
}

impl SubmittedBody {
    /// Reads the body of a request. A form longer than [`BODY_BYTES_MAX`], or of unknown length, can only be one with
    /// a picture, and counts against the address's limit of uploads before it is read.
    pub(super) async fn read(
        app: &BoardApp,
        asked: &RequestContext,
        body: RequestBody,
    ) -> Result<Self, Problem> {
        let is_short = body.size_hint().upper().is_some_and(|most| most <= BODY_BYTES_MAX as u64);
        if !is_form(&asked.headers) || is_short {
            let memory = app.site.body_budget.begin(BodySender::known(asked.client));
            let read = FullBody::up_to(BODY_BYTES_MAX, &app.site, body, memory).await?;
            if !is_form(&asked.headers) {
                return Ok(Self::Text(read));
            }
            let letter = Submission::of_form(app, asked, read).await?;
            if letter.picture.is_some() {
                app.uploads.admit(asked.client)?;
            }
            return Ok(Self::Form(letter));
        }
        app.uploads.admit(asked.client)?;
        let read = app.uploads.read(asked.client, body, BODY_BYTES_MAX).await?;
        Ok(Self::Form(Submission::of_form(app, asked, read).await?))
    }
}

impl Submission {
    async fn of_form(
        app: &BoardApp,
        asked: &RequestContext,
        mut body: BufferedBody,
    ) -> Result<Self, Problem> {
        let (bytes, bytes_max) = (body.bytes.clone(), app.uploads.bytes_max());
        let form =
            MultipartForm::read(&asked.headers, bytes, &TEXT_FIELDS, PICTURE_FIELD, bytes_max)
                .await;
        let mut form = form.map_err(|error| match error {
            multer::Error::FieldSizeExceeded { field_name: Some(name), .. }
                if name == PICTURE_FIELD =>
            {
                app.uploads.too_long()
            }
            error => Error::invalid("form", format!("cannot be read: {error}")).into(),
        })?;
        // Browsers send an empty file if none was chosen.
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

    /// Parses the message, without its picture.
    pub(super) fn message(&self, channel: Slug) -> Result<NewMessage, Error> {
        let reply_to = Some(self.reply_to.as_str()).filter(|id| !id.is_empty());
        let reply_to = reply_to.map(|id| message_id_of_field("reply_to", id)).transpose();
        let parse = if self.picture.is_some() { Body::parse_with_picture } else { Body::parse };
        Ok(NewMessage {
            channel,
            client_id: ClientId::parse(&self.client_id)?,
            body: parse(&self.body)?,
            reply_to: reply_to?,
            picture: None,
        })
    }
}

/// Stores a message, within its author's rate limit.
pub(super) async fn store_message(
    app: &BoardApp,
    by: &Actor,
    new: NewMessage,
    upload: Option<BufferedBody>,
) -> Result<Posted, Problem> {
    app.check_rate(by)?;
    let posted = match upload {
        Some(upload) => store_with_picture(app, by, new, upload).await,
        None => app.board.post(by, new).await,
    };
    posted.map_err(|error| match error {
        Error::KeyReused => {
            let detail =
                "this client_id was used for another message; use a new one for each message"
                    .to_owned();
            Problem { detail, field: Some("client_id".into()), ..error.into() }
        }
        Error::TooMany { retry_after } => {
            let seconds = retry_after.as_secs().max(1);
            let detail = format!("this channel is in slow mode; you can post again in {seconds} s");
            Problem { detail, ..error.into() }
        }
        error => error.into(),
    })
}

/// Stores a message with a picture. The dry run comes first, so that only new and permitted messages are decoded; the
/// upload's memory is freed after decoding.
async fn store_with_picture(
    app: &BoardApp,
    by: &Actor,
    new: NewMessage,
    upload: BufferedBody,
) -> Result<Posted, Error> {
    if let Some(before) = app.board.dry_run(by, &new).await? {
        return Ok(Posted::Repeated(before));
    }
    let picture = app.board.decoded(upload.bytes.clone()).await?;
    drop(upload);
    app.board.post_with(by, new, picture).await
}
