//! The page that makes the first admin. It exists only while there is no admin.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, SessionDigest, SignUp},
};
use serde::Deserialize;

use super::sign_up::{self, SignUpForm};
use crate::{
    accounts::app::AccountsApp,
    error::{HttpResult, Problem},
    pages::{self, errors::FormErrors, redirect_to},
    request::{CredentialRateLimit, FormBody, RequestContext},
    session,
};

#[derive(Template)]
#[template(path = "accounts/setup.html")]
pub(super) struct SetupPage<'a> {
    /// The signed-in account, which becomes the admin; without one an account is created.
    pub(super) me: Option<&'a Account>,
    /// Whether the visitor must enter the code.
    pub(super) needs_code: bool,
    pub(super) form: &'a SetupForm,
    pub(super) errors: &'a FormErrors,
}

/// The form, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SetupForm {
    pub(super) username: String,
    pub(super) password: String,
    pub(super) code: String,
}

/// The signed-in account and its session.
type Me = Option<(SessionDigest, Account)>;

/// `GET /admin/setup`.
pub(super) async fn form(State(app): State<AccountsApp>, asked: RequestContext) -> HttpResult {
    if !app.site.needs_admin().await? {
        return Err(Error::not_found("this server already has an admin").into());
    }
    let me = me(&app, &asked).await?;
    page(&app, &asked, &me, &SetupForm::default(), &FormErrors::default()).await
}

/// `POST /admin/setup`.
pub(super) async fn make(
    State(app): State<AccountsApp>,
    _: CredentialRateLimit,
    asked: RequestContext,
    FormBody(form): FormBody<SetupForm>,
) -> HttpResult {
    if !app.site.needs_admin().await? {
        return redirect_to("/admin");
    }
    let me = me(&app, &asked).await?;
    let code = app.site.known_setup_code(&asked).await.cloned();
    let code = code.unwrap_or_else(|| form.code.trim().to_owned().into());
    let made = match &me {
        Some((session, _)) => app.accounts.become_admin(*session, code).await,
        None => match form.parse() {
            Ok(request) => app.accounts.set_up(request, code).await,
            Err(errors) => return page(&app, &asked, &me, &form, &errors).await,
        },
    };
    match made {
        Ok(_) if me.is_some() => redirect_to("/admin"),
        Ok(account) => sign_up::welcome(&app, &asked, &account, &form.password, "/admin").await,
        // The form was sent twice, or another visitor was faster.
        Err(Error::Gone(_)) => redirect_to("/admin"),
        Err(error) => {
            let errors = FormErrors::of_refusal(error, "username")?;
            let errors = errors.beside_field(StatusCode::FORBIDDEN, "code");
            page(&app, &asked, &me, &form, &errors).await
        }
    }
}

impl SetupForm {
    fn parse(&self) -> Result<SignUp, FormErrors> {
        let (username, password) = (self.username.clone(), self.password.clone());
        SignUpForm { username, password, ..SignUpForm::default() }.parse()
    }
}

async fn me(app: &AccountsApp, asked: &RequestContext) -> Result<Me, Problem> {
    let Some(session) = session::account_session(asked) else { return Ok(None) };
    let me = session::account(&app.site, session).await?;
    Ok(me.map(|me| (session, me.account)))
}

async fn page(
    app: &AccountsApp,
    asked: &RequestContext,
    me: &Me,
    form: &SetupForm,
    errors: &FormErrors,
) -> HttpResult {
    let needs_code = app.site.known_setup_code(asked).await.is_none();
    let me = me.as_ref().map(|(_, account)| account);
    pages::form_page(&app.site, errors, &SetupPage { me, needs_code, form, errors })
}
