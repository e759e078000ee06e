//! The page of one account, for moderators and administrators.

use askama::Template;
use axum::extract::{RawQuery, State};
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, Role, Username},
    pictures::PictureSize,
    secret::SecretText,
};
use serde::Deserialize;

use super::me::{Me, Staff};
use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::{self, redirect_to, words},
    pictures,
    request::{FormBody, PathParam},
};

#[derive(Template)]
#[template(path = "accounts/admin_account.html")]
pub(super) struct AdminAccountPage<'a> {
    pub(super) me: &'a Account,
    pub(super) account: &'a Account,
    pub(super) notice: Option<&'static str>,
}

impl AdminAccountPage<'_> {
    /// Whether the viewer may set the role.
    fn gives_roles(&self) -> bool {
        self.me.role == Role::Admin && self.account.id != self.me.id
    }

    /// Whether the viewer may ban and unban.
    fn bans(&self) -> bool {
        self.account.role < self.me.role
    }

    /// Returns the path of the picture.
    fn picture(&self) -> Option<String> {
        self.account.picture.map(|id| pictures::path(id, PictureSize::Large))
    }

    /// Whether the viewer may issue password reset codes.
    fn gives_codes(&self) -> bool {
        self.bans() && self.me.role == Role::Admin
    }
}

/// Shows a reset code, once.
#[derive(Template)]
#[template(path = "accounts/code.html")]
pub(super) struct CodePage<'a> {
    pub(super) username: &'a Username,
    pub(super) code: &'a str,
}

/// `GET /admin/accounts/{username}`.
pub(super) async fn show(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
    RawQuery(query): RawQuery,
    Staff(me): Staff,
) -> HttpResult {
    let account = app.accounts.user(named(&segment)?).await?;
    let notice = (query.as_deref() == Some("saved")).then_some("Done.");
    let page = AdminAccountPage { me: me.account(), account: &account, notice };
    pages::page(&app.site, StatusCode::OK, &page)
}

fn named(segment: &str) -> Result<Username, Problem> {
    Username::parse(segment).map_err(|_| Error::not_found("there is no such account").into())
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) struct ChangeForm {
    action: Action,
    #[serde(default)]
    role: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Ban,
    Unban,
    EndSessions,
    SetRole,
    Reset,
    TakePicture,
}

/// `POST /admin/accounts/{username}`.
pub(super) async fn change(
    State(app): State<AccountsApp>,
    PathParam(segment): PathParam,
    Staff(me): Staff,
    FormBody(form): FormBody<ChangeForm>,
) -> HttpResult {
    let name = named(&segment)?;
    if let Some(code) = done(&app, &me, &name, form).await? {
        let page = CodePage { username: &name, code: code.reveal() };
        return pages::page(&app.site, StatusCode::OK, &page);
    }
    redirect_to(&format!("/admin/accounts/{}?saved", words::escaped(name.as_str())))
}

async fn done(
    app: &AccountsApp,
    me: &Me,
    name: &Username,
    form: ChangeForm,
) -> Result<Option<SecretText>, Error> {
    let (accounts, session, name) = (&app.accounts, me.session, name.clone());
    match form.action {
        Action::Ban => drop(accounts.ban(session, name).await?),
        Action::Unban => drop(accounts.unban(session, name).await?),
        Action::EndSessions => drop(accounts.end_sessions(session, name).await?),
        Action::SetRole => drop(accounts.set_role(session, name, Role::parse(&form.role)?).await?),
        Action::TakePicture => drop(accounts.take_picture(session, name).await?),
        Action::Reset => return accounts.issue_reset(session, name).await.map(Some),
    }
    Ok(None)
}
