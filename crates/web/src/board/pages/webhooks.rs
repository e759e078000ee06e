//! The page of webhooks, for admins.

use askama::Template;
use axum::extract::{RawQuery, State};
use http::StatusCode;
use lodge_domain::{
    Result,
    board::{Actor, Channel, DeliveryStatus, Hook, HookId, HookUrl, Hooks, Slug},
};
use serde::Deserialize;

use crate::{
    admin::{Admin, secret::SecretPage},
    board::hooks_api::HooksApp,
    error::HttpResult,
    pages::{self, errors::FormErrors, redirect_to},
    request::FormBody,
};

pub(in crate::board) const PATH: &str = "/admin/webhooks";

#[derive(Template)]
#[template(path = "board/webhooks.html")]
pub(super) struct WebhooksPage<'a> {
    pub(super) hooks: &'a [Hook],
    pub(super) channels: &'a [Channel],
    pub(super) form: &'a HookForm,
    pub(super) errors: &'a FormErrors,
    pub(super) notice: Option<&'static str>,
}

/// The forms of the page, as sent.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::board) struct HookForm {
    /// The webhook to remove; without one a new webhook is added.
    pub(super) remove: Option<i64>,
    pub(super) channel: String,
    pub(super) url: String,
}

/// `GET /admin/webhooks`.
pub(in crate::board) async fn show(
    State(app): State<HooksApp>,
    Admin(me): Admin,
    RawQuery(query): RawQuery,
) -> HttpResult {
    let hooks = app.hooks.of_admin(&Actor::of(&me))?;
    let notice = (query.as_deref() == Some("removed")).then_some("Webhook removed.");
    page(&app, hooks, &HookForm::default(), &FormErrors::default(), notice).await
}

/// `POST /admin/webhooks`. The response to a new webhook shows its secret.
pub(in crate::board) async fn change(
    State(app): State<HooksApp>,
    Admin(me): Admin,
    FormBody(form): FormBody<HookForm>,
) -> HttpResult {
    let hooks = app.hooks.of_admin(&Actor::of(&me))?;
    if let Some(id) = form.remove {
        hooks.remove(HookId(id)).await?;
        return redirect_to(&format!("{PATH}?removed"));
    }
    match added(hooks, &form).await {
        Ok((title, secret)) => {
            let usage = "The receiver verifies deliveries with it, as the Standard Webhooks specification says.";
            let back = (PATH, "Webhooks");
            SecretPage { title: &title, usage, secret: &secret.into(), back }.shown(&app.site)
        }
        Err(error) => {
            let errors = FormErrors::of_refusal(error, "url")?;
            let errors = errors.beside_field(StatusCode::NOT_FOUND, "channel");
            page(&app, hooks, &form, &errors, None).await
        }
    }
}

/// Adds the webhook of the form. Returns what it is called, and its secret.
async fn added(hooks: &Hooks, form: &HookForm) -> Result<(String, String)> {
    let (channel, url) = (Slug::parse(&form.channel)?, HookUrl::parse(&form.url)?);
    let (hook, secret) = hooks.add(channel, url).await?;
    Ok((format!("Secret of the webhook for #{}", hook.channel), secret.to_text()))
}

async fn page(
    app: &HooksApp,
    hooks: &Hooks,
    form: &HookForm,
    errors: &FormErrors,
    notice: Option<&'static str>,
) -> HttpResult {
    let (hooks, channels) = (hooks.list().await?, app.board.board.channels().await?);
    let (hooks, channels) = (&hooks[..], &channels[..]);
    pages::form_page(&app.site, errors, &WebhooksPage { hooks, channels, form, errors, notice })
}
