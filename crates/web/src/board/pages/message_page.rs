//! The page of one message, with all of its actions.

use askama::Template;
use axum::{
    extract::{RawQuery, State},
    response::IntoResponse,
};
use http::StatusCode;
use lodge_domain::{
    Error, Result,
    board::{Action, Actor, Body, EventId, Message, Reaction, Slug, Version, Visibility},
};
use serde::Deserialize;

use super::{
    message::MessageItem,
    signed_in::{require_sign_in, signed_in_actor, wants_json},
    words::path_to,
};
use crate::{
    board::app::{BoardApp, message_id, slug},
    body::FullBody,
    error::{HttpResult, Problem},
    pages::{self, errors::FormErrors, redirect_to},
    request::{self, PathParam, RequestContext},
};

#[derive(Template)]
#[template(path = "board/one.html")]
pub(super) struct MessagePage<'a> {
    pub(super) message: &'a Message,
    pub(super) item: MessageItem<'a>,
    /// Whether its channel is archived.
    pub(super) is_archived: bool,
    pub(super) history: &'a [Version],
    pub(super) reader: &'a Actor,
    pub(super) notice: Option<&'static str>,
    pub(super) typed: &'a str,
    pub(super) reason: &'a str,
    pub(super) errors: &'a FormErrors,
}

impl MessagePage<'_> {
    fn is_own(&self) -> bool {
        self.message.by.person == self.reader.id()
    }

    fn is_shown(&self) -> bool {
        self.message.visibility == Visibility::Shown
    }

    /// Whether members can reply to it, react to it and edit it.
    fn is_open(&self) -> bool {
        self.is_shown() && !self.is_archived
    }

    fn is_hidden(&self) -> bool {
        self.message.visibility == Visibility::Hidden
    }

    fn is_there(&self) -> bool {
        self.message.visibility != Visibility::Deleted
    }

    fn can_be_banned(&self) -> bool {
        !self.is_own() && !self.message.by.is_bot() && !self.message.by.username.is_empty()
    }

    /// Returns all reactions, each with whether the reader has added it.
    fn signs(&self) -> Vec<(&'static str, bool)> {
        let is_mine = |sign| {
            self.message.reactions.iter().any(|given| given.reaction == sign && given.is_mine)
        };
        Reaction::all().map(|sign| (sign.emoji(), is_mine(sign))).collect()
    }
}

/// The submitted form. A reaction needs no `action`, so that its button alone is enough.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ActionForm {
    action: String,
    react: String,
    unreact: String,
    reaction: String,
    body: String,
    reason: String,
}

/// The parsed form.
enum FormAction {
    Apply(Action, &'static str),
    Report,
}

impl ActionForm {
    fn action(&self) -> Result<FormAction> {
        let react = |sign: &str, is_removed| {
            let action = Action::React { reaction: Reaction::parse(sign)?, is_removed };
            Ok(FormAction::Apply(action, "saved"))
        };
        match self.action.as_str() {
            "" if !self.react.is_empty() => react(&self.react, false),
            "" if !self.unreact.is_empty() => react(&self.unreact, true),
            "react" => react(&self.reaction, false),
            "unreact" => react(&self.reaction, true),
            "edit" => Ok(FormAction::Apply(Action::Edit(Body::parse(&self.body)?), "saved")),
            "delete" => Ok(FormAction::Apply(Action::Delete, "deleted")),
            "hide" => Ok(FormAction::Apply(Action::Hide(true), "hidden")),
            "show" => Ok(FormAction::Apply(Action::Hide(false), "shown")),
            "report" => Ok(FormAction::Report),
            _ => Err(Error::invalid(
                "action",
                "must be edit, delete, hide, show, report, react or unreact",
            )),
        }
    }
}

/// Returns the notice after an action.
fn notice(query: Option<&str>) -> Option<&'static str> {
    Some(match query? {
        "saved" => "Saved.",
        "deleted" => "Deleted.",
        "hidden" => "Hidden. Only moderators and admins can read it.",
        "shown" => "All members can read it again.",
        "reported" => "Thank you. The moderators will review your report.",
        _ => return None,
    })
}

/// `GET /board/{channel}/m/{message}`.
pub(super) async fn show(
    State(app): State<BoardApp>,
    PathParam((channel, message)): PathParam<(String, String)>,
    RawQuery(query): RawQuery,
    asked: RequestContext,
) -> HttpResult {
    let (slug, id) = (slug(&channel)?, message_id(&message)?);
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        return require_sign_in(&asked, &path_to(&slug, id));
    };
    let (form, errors) = (ActionForm::default(), FormErrors::default());
    page(&app, &me, (slug, id), notice(query.as_deref()), &form, &errors).await
}

async fn page(
    app: &BoardApp,
    me: &Actor,
    (slug, id): (Slug, EventId),
    notice: Option<&'static str>,
    form: &ActionForm,
    errors: &FormErrors,
) -> HttpResult {
    let is_archived = app.board.channel(&slug).await?.is_archived;
    let (message, history) = app.board.message(me, &slug, id).await?;
    let said = message.body.as_ref().map_or("", |body| body.as_str());
    let is_closed = is_archived || message.visibility != Visibility::Shown;
    let page = MessagePage {
        message: &message,
        item: MessageItem::to(&me.profile, &message).closed(is_closed),
        is_archived,
        history: &history,
        reader: me,
        notice,
        typed: if errors.of("body").is_some() { &form.body } else { said },
        reason: &form.reason,
        errors,
    };
    pages::form_page(&app.site, errors, &page)
}

/// `POST /board/{channel}/m/{message}`.
pub(super) async fn change(
    State(app): State<BoardApp>,
    PathParam((channel, message)): PathParam<(String, String)>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let (slug, id) = (slug(&channel)?, message_id(&message)?);
    let path = path_to(&slug, id);
    let Some(me) = signed_in_actor(&app, &asked).await? else {
        return require_sign_in(&asked, &path);
    };
    let form: ActionForm = request::form(&body)?;
    match apply_form(&app, &me, (&slug, id), &form).await {
        Ok(_) if wants_json(&asked.headers) => Ok(StatusCode::NO_CONTENT.into_response()),
        Ok(said) => redirect_to(&format!("{path}?{said}")),
        Err(error @ Error::Invalid { .. }) if !wants_json(&asked.headers) => {
            let errors = FormErrors::of_refusal(error, "body")?;
            page(&app, &me, (slug, id), None, &form, &errors).await
        }
        Err(error) => Err(Problem::from(error)),
    }
}

async fn apply_form(
    app: &BoardApp,
    me: &Actor,
    (slug, id): (&Slug, EventId),
    form: &ActionForm,
) -> Result<&'static str> {
    let action = form.action()?;
    app.check_rate(me)?;
    match action {
        FormAction::Apply(action, said) => {
            app.board.apply(me, slug, id, action).await.map(|_| said)
        }
        FormAction::Report => {
            app.board.report(me, slug, id, &form.reason).await?;
            Ok("reported")
        }
    }
}
