//! One's own page.

use askama::Template;
use axum::extract::{RawQuery, State};
use http::StatusCode;
use lodge_domain::accounts::{Account, Role, Session};

use super::{Me, device, me, profile::ProfileForm, sign_in_first};
use crate::{
    accounts::{api, app::AccountsApp},
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::Asked,
};

#[derive(Template)]
#[template(path = "accounts/account.html")]
pub(super) struct AccountPage<'a> {
    pub(super) account: &'a Account,
    pub(super) sessions: &'a [Place],
    pub(super) notice: Option<&'static str>,
    pub(super) form: &'a ProfileForm,
    pub(super) errors: &'a FormErrors,
}

impl AccountPage<'_> {
    fn is_staff(&self) -> bool {
        self.account.role >= Role::Moderator
    }
}

/// Where one is signed in.
pub(super) struct Place {
    pub(super) session: Session,
    pub(super) device: String,
    pub(super) is_here: bool,
}

/// `GET /account`.
pub(super) async fn show(
    State(app): State<AccountsApp>,
    RawQuery(query): RawQuery,
    asked: Asked,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let form = ProfileForm::of(&me.signed_in.account);
    let view =
        View { notice: notice(query.as_deref()), form: &form, errors: &FormErrors::default() };
    page(&app, &me, StatusCode::OK, view).await
}

/// What is to be said about what just happened.
fn notice(query: Option<&str>) -> Option<&'static str> {
    Some(match query? {
        "welcome" => "Welcome! Your account is ready.",
        "saved" => "Saved.",
        "password" => "Your password is changed. You are signed out everywhere else.",
        "ended" => "That session has ended.",
        _ => return None,
    })
}

/// What differs from one showing of the page to another.
pub(super) struct View<'a> {
    pub(super) notice: Option<&'static str>,
    pub(super) form: &'a ProfileForm,
    pub(super) errors: &'a FormErrors,
}

/// The page.
pub(super) async fn page(
    app: &AccountsApp,
    me: &Me,
    status: StatusCode,
    view: View<'_>,
) -> HttpResult {
    let sessions = app.accounts.sessions(me.session).await?.into_iter();
    let sessions: Vec<Place> = sessions
        .map(|session| Place {
            device: device::named(&session.agent),
            is_here: session.id == me.signed_in.session.id,
            session,
        })
        .collect();
    let View { notice, form, errors } = view;
    let account = &me.signed_in.account;
    let page = AccountPage { account, sessions: &sessions, notice, form, errors };
    Ok(pages::page(&app.site, status, &page)?)
}

/// `GET /account/export`.
pub(super) async fn export(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    api::exported(&app, me.session).await
}
