//! One's own page.

use askama::Template;
use axum::extract::{RawQuery, State};
use http::{StatusCode, header};
use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{Account, PictureSize, Provider, ProviderName, Role, Session},
};

use super::{Me, device, me, profile::ProfileForm, sign_in_first};
use crate::{
    accounts::{api, app::AccountsApp, picture},
    edge::headers::POLICY_FORM_LEADS_AWAY,
    error::HttpResult,
    pages::{self, errors::FormErrors},
    request::Asked,
};

#[derive(Template)]
#[template(path = "accounts/account.html")]
pub(super) struct AccountPage<'a> {
    pub(super) account: &'a Account,
    pub(super) sessions: &'a [Place],
    pub(super) ways: &'a [Way],
    pub(super) notice: Option<&'static str>,
    pub(super) form: &'a ProfileForm,
    pub(super) errors: &'a FormErrors,
}

impl AccountPage<'_> {
    fn is_staff(&self) -> bool {
        self.account.role >= Role::Moderator
    }

    /// Where one's picture is.
    fn picture(&self) -> Option<String> {
        self.account.picture.map(|id| picture::path(id, PictureSize::Large))
    }

    /// Whether something opens the account beside any one of the providers.
    fn may_unlink(&self) -> bool {
        self.account.has_password || self.ways.iter().filter(|way| way.since.is_some()).count() > 1
    }
}

/// Where one says one's password to link a provider.
pub(super) fn field_of(provider: &ProviderName) -> String {
    format!("link-{provider}")
}

/// A provider, and since when one is let in by it.
pub(super) struct Way {
    pub(super) provider: Provider,
    pub(super) since: Option<Timestamp>,
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
    let (account, ways) = (&me.signed_in.account, ways(app, me).await?);
    let page = AccountPage { account, sessions: &sessions, ways: &ways, notice, form, errors };
    let mut response = pages::page(&app.site, status, &page)?;
    if !ways.is_empty() {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY_FORM_LEADS_AWAY);
    }
    Ok(response)
}

async fn ways(app: &AccountsApp, me: &Me) -> Result<Vec<Way>, Error> {
    let providers = app.accounts.providers().await?;
    if providers.is_empty() {
        return Ok(Vec::new());
    }
    let linked = app.accounts.identities(me.session).await?;
    let since = |issuer: &str| {
        let linked = linked.iter().find(|linked| linked.identity.issuer == issuer);
        linked.map(|linked| linked.linked_at)
    };
    let ways =
        providers.into_iter().map(|provider| Way { since: since(&provider.issuer), provider });
    Ok(ways.collect())
}

/// `GET /account/export`.
pub(super) async fn export(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    api::exported(&app, me.session).await
}
