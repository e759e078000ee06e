//! The sign-up form.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, Email, Nickname, PasswordContext, SignUp, TAKEN, Username},
    caller::Caller,
};
use serde::Deserialize;

use crate::{
    accounts::{app::AccountsApp, new_password::new_password},
    body::FullBody,
    edge::limits,
    error::HttpResult,
    pages::{
        self,
        errors::FormErrors,
        forms::{self, non_empty},
        redirect_to,
    },
    request::{self, QueryParams, RequestContext},
    session::{self, PageCaller},
    sign_in::{self, Next},
};

#[derive(Template)]
#[template(path = "accounts/sign_up.html")]
pub(super) struct SignUpPage<'a> {
    /// The account or API key that the visitor is signed in to.
    pub(super) signed_in_as: Option<&'a str>,
    /// Whether visitors may create accounts.
    pub(super) is_open: bool,
    pub(super) form: &'a SignUpForm,
    pub(super) errors: &'a FormErrors,
}

/// The form, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SignUpForm {
    /// The id of this rendering of the form, so that a repeated submission creates one account.
    pub(super) form: String,
    pub(super) username: String,
    pub(super) password: String,
    pub(super) nickname: String,
    pub(super) email: String,
    /// The path to go to afterwards.
    pub(super) next: String,
}

impl SignUpForm {
    pub(super) fn parse(&self) -> Result<SignUp, FormErrors> {
        let mut errors = FormErrors::default();
        let username = errors.take(Username::parse(&self.username));
        let password = username.as_ref().and_then(|name| {
            let (nickname, email) = (self.nickname.as_str(), self.email.as_str());
            let context = PasswordContext { nickname, email, ..PasswordContext::from(name) };
            errors.take(new_password("password", self.password.clone(), context))
        });
        let nickname = errors.take(non_empty(&self.nickname).map(Nickname::parse).transpose());
        let email = errors.take(non_empty(&self.email).map(Email::parse).transpose());
        match (username, password, nickname, email) {
            (Some(username), Some(password), Some(nickname), Some(email)) => {
                Ok(SignUp { username, password, nickname, email })
            }
            _ => Err(errors),
        }
    }
}

/// `GET /signup`.
pub(super) async fn form(
    State(app): State<AccountsApp>,
    QueryParams(Next { next }): QueryParams<Next>,
    asked: RequestContext,
) -> HttpResult {
    let person = session::page_caller(&app.site, &asked).await?;
    let form = SignUpForm { form: forms::id(&*app.site.random), next, ..SignUpForm::default() };
    let signed_in_as = person.as_ref().map(PageCaller::name);
    let errors = FormErrors::default();
    let is_open = app.site.open_sign_up;
    let page = SignUpPage { signed_in_as, is_open, form: &form, errors: &errors };
    pages::page(&app.site, StatusCode::OK, &page)
}

/// `POST /signup`: creates the account and signs in.
pub(super) async fn make(
    State(app): State<AccountsApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    limits::take(app.sign_ups.as_ref(), asked.client)?;
    let form: SignUpForm = request::form(&body)?;
    let request = match form.parse() {
        Ok(request) => request,
        Err(errors) => return again(&app, form, &errors),
    };
    // The service adds the password.
    let said = [&*form.username, &form.nickname, &form.email].join("\0");
    let idempotency =
        asked.unkeyed_form_key(&Caller::Anonymous, &form.form, "/signup", said.as_bytes())?;
    let made = match app.accounts.sign_up(request, idempotency).await {
        Ok(done) => done.outcome.ok_or(TAKEN),
        // This form was sent with the same names and another password.
        Err(Error::KeyReused) => Err(TAKEN),
        Err(error) => Err(error),
    };
    match made {
        Ok(account) => welcome(&app, &asked, &account, &form.password, &form.next).await,
        Err(error) => again(&app, form, &FormErrors::of_refusal(error, "username")?),
    }
}

/// Signs in to a new account and continues at `next`.
pub(super) async fn welcome(
    app: &AccountsApp,
    asked: &RequestContext,
    account: &Account,
    password: &str,
    next: &str,
) -> HttpResult {
    sign_in::end_previous_session(&app.site, asked).await?;
    let username = account.username.as_str();
    match sign_in::begin_session(&app.accounts, asked, username, password, None).await {
        Ok(fresh) => {
            sign_in::signed_in(next, "/account?welcome", session::begin_account(asked, &fresh)?)
        }
        // The account is created, even if the sign-in fails.
        Err(_) => redirect_to("/login?next=/account"),
    }
}

/// Shows the form again with the typed text and the errors.
fn again(app: &AccountsApp, form: SignUpForm, errors: &FormErrors) -> HttpResult {
    let form = SignUpForm { form: forms::id(&*app.site.random), password: String::new(), ..form };
    let is_open = app.site.open_sign_up;
    let page = SignUpPage { signed_in_as: None, is_open, form: &form, errors };
    pages::form_page(&app.site, errors, &page)
}
