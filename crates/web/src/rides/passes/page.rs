//! The page of the account's passes.

use askama::Template;
use axum::extract::State;
use http::StatusCode;
use lodge_domain::{
    Error,
    accounts::{Account, SignedIn},
    rides::{LeaderProfile, Pass, PassCode},
};
use serde::Deserialize;

use crate::{
    body::FullBody,
    edge::limits,
    error::{HttpResult, Problem},
    pages::{self, errors::FormErrors, redirect_to},
    request::{self, PathParam, RequestContext},
    rides::app::RidesApp,
    session::{self, PageCaller},
};

#[derive(Template)]
#[template(path = "rides/passes.html")]
pub(super) struct PassesPage<'a> {
    pub(super) account: &'a Account,
    pub(super) passes: &'a [Pass],
    /// What leaderboards show of the account, if it allows that.
    pub(super) profile: Option<&'a LeaderProfile>,
    pub(super) form: &'a ClaimForm,
    pub(super) errors: &'a FormErrors,
}

/// The form to claim a pass, as typed.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ClaimForm {
    #[serde(rename = "skierID")]
    pub(super) skier: String,
    pub(super) code: String,
}

/// A change of a pass.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum PassAction {
    Hide,
    Show,
    Release,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionForm {
    action: PassAction,
}

/// Whether leaderboards show the account's profile.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileForm {
    shown: bool,
}

/// Returns the signed-in account, if any.
async fn me(app: &RidesApp, asked: &RequestContext) -> Result<Option<Box<SignedIn>>, Problem> {
    Ok(match session::page_caller(&app.site, asked).await? {
        Some(PageCaller::Account(me)) => Some(me),
        Some(PageCaller::Key(_)) | None => None,
    })
}

fn sign_in_first() -> HttpResult {
    redirect_to("/login?next=/rides/passes")
}

/// `GET /rides/passes`.
pub(super) async fn show(State(app): State<RidesApp>, asked: RequestContext) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    page(&app, &me, &ClaimForm::default(), &FormErrors::default()).await
}

/// `POST /rides/passes`.
pub(super) async fn claim(
    State(app): State<RidesApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    limits::take(app.site.credential_limit.as_ref(), asked.client)?;
    let form: ClaimForm = request::form(&body)?;
    let Err(error) = claimed(&app, &me, &form).await else { return redirect_to("/rides/passes") };
    let errors = FormErrors::of_refusal(error, "skierID")?;
    page(&app, &me, &form, &errors.beside_field(StatusCode::FORBIDDEN, "code")).await
}

async fn claimed(app: &RidesApp, me: &SignedIn, form: &ClaimForm) -> Result<(), Error> {
    let skier = app.skier(&form.skier)?;
    let code: PassCode = form.code.parse()?;
    app.rides.passes().claim(skier, me.account.id, &code).await.map(drop)
}

/// `POST /rides/passes/profile`.
pub(super) async fn set_profile(
    State(app): State<RidesApp>,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let ProfileForm { shown } = request::form(&body)?;
    app.rides.passes().set_profile(&me.account, shown).await?;
    redirect_to("/rides/passes")
}

/// `POST /rides/passes/{skierID}`.
pub(super) async fn change(
    State(app): State<RidesApp>,
    PathParam(number): PathParam,
    asked: RequestContext,
    FullBody(body): FullBody,
) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    let (skier, account) = (app.skier(&number)?, me.account.id);
    let ActionForm { action } = request::form(&body)?;
    let done = match action {
        PassAction::Hide => app.rides.passes().hide(skier, account, true).await.map(drop),
        PassAction::Show => app.rides.passes().hide(skier, account, false).await.map(drop),
        PassAction::Release => app.rides.passes().release(skier, account).await,
    };
    match done {
        // A second click on the same button, or another account has claimed the pass: show the current state.
        Ok(()) | Err(Error::NotFound(_)) => redirect_to("/rides/passes"),
        Err(error) => Err(error.into()),
    }
}

async fn page(app: &RidesApp, me: &SignedIn, form: &ClaimForm, errors: &FormErrors) -> HttpResult {
    let (passes, account) = (app.rides.passes(), &me.account);
    let profile = passes.current_profile(account).await?;
    let passes = passes.of_account(account.id).await?;
    let (passes, profile) = (&*passes, profile.as_ref());
    pages::form_page(&app.site, errors, &PassesPage { account, passes, profile, form, errors })
}
