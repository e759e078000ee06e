//! The account page.

use askama::Template;
use axum::extract::{RawQuery, State};
use http::header;
use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{Account, LinkedIdentity, Provider, ProviderName, Role, Session},
    pictures::PictureSize,
};

use super::{device, me::Me, profile::ProfileForm};
use crate::{
    accounts::{app::AccountsApp, export::exported},
    edge::headers::POLICY_FORM_LEADS_AWAY,
    error::HttpResult,
    pages::{self, errors::FormErrors},
    pictures::{self, PictureMax},
};

#[derive(Template)]
#[template(path = "accounts/account.html")]
pub(super) struct AccountPage<'a> {
    pub(super) account: &'a Account,
    pub(super) sessions: &'a [SessionRow],
    pub(super) ways: &'a [ProviderRow],
    pub(super) notice: Option<&'static str>,
    pub(super) form: &'a ProfileForm,
    pub(super) errors: &'a FormErrors,
    pub(super) picture_max: &'a PictureMax,
    /// Whether changes of how the account is opened need a new sign-in at a provider.
    pub(super) needs_sign_in: bool,
}

impl AccountPage<'_> {
    fn is_staff(&self) -> bool {
        self.account.role >= Role::Moderator
    }

    /// Returns the path of the picture.
    fn picture(&self) -> Option<String> {
        self.account.picture.map(|id| pictures::path(id, PictureSize::Large))
    }

    /// Whether the account has another way to sign in.
    fn may_unlink(&self, issuer: &str) -> bool {
        let opens =
            |way: &ProviderRow| way.name.is_some() && way.since.is_some() && way.issuer != issuer;
        self.account.has_password || self.ways.iter().any(opens)
    }
}

/// Returns the id of the password field in the form that links a provider.
pub(super) fn field_of(provider: &ProviderName) -> String {
    format!("link-{provider}")
}

/// A row of the provider list: available, linked or both.
pub(super) struct ProviderRow {
    /// `None` for a linked provider that is no longer configured.
    pub(super) name: Option<ProviderName>,
    pub(super) title: String,
    pub(super) issuer: String,
    pub(super) since: Option<Timestamp>,
}

/// A row of the session list.
pub(super) struct SessionRow {
    pub(super) session: Session,
    pub(super) device: String,
    pub(super) is_here: bool,
}

/// `GET /account`.
pub(super) async fn show(
    State(app): State<AccountsApp>,
    RawQuery(query): RawQuery,
    me: Me,
) -> HttpResult {
    let form = ProfileForm::of(me.account());
    page(&app, &me, notice(query.as_deref()), &form, &FormErrors::default()).await
}

/// Returns the text for the outcome in the query.
fn notice(query: Option<&str>) -> Option<&'static str> {
    Some(match query? {
        "welcome" => "Welcome! Your account is ready.",
        "saved" => "Saved.",
        "password" => "Password changed. You are signed out on all other devices.",
        "ended" => "Session ended.",
        _ => return None,
    })
}

/// Shows the page again with the errors of one of its forms.
pub(super) async fn again(app: &AccountsApp, me: &Me, errors: &FormErrors) -> HttpResult {
    page(app, me, None, &ProfileForm::of(me.account()), errors).await
}

/// Renders the page.
pub(super) async fn page(
    app: &AccountsApp,
    me: &Me,
    notice: Option<&'static str>,
    form: &ProfileForm,
    errors: &FormErrors,
) -> HttpResult {
    let sessions = app.accounts.sessions(me.session).await?.into_iter();
    let sessions: Vec<SessionRow> = sessions
        .map(|session| SessionRow {
            device: device::named(&session.agent),
            is_here: session.id == me.signed_in.session.id,
            session,
        })
        .collect();
    let (account, ways) = (me.account(), ways(app, me).await?);
    let picture_max = &app.uploads.max();
    let (sessions, ways) = (&sessions[..], &ways[..]);
    let is_recent = me.signed_in.session.is_recent(app.site.clock.now());
    let needs_sign_in = !account.has_password && !is_recent;
    let page =
        AccountPage { account, sessions, ways, notice, form, errors, picture_max, needs_sign_in };
    let mut response = pages::form_page(&app.site, errors, &page)?;
    if ways.iter().any(|way| way.name.is_some()) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY_FORM_LEADS_AWAY);
    }
    Ok(response)
}

async fn ways(app: &AccountsApp, me: &Me) -> Result<Vec<ProviderRow>, Error> {
    let providers = app.accounts.providers().await?.into_iter();
    let linked = app.accounts.identities(me.session).await?;
    let set_up = providers.map(|Provider { name, title, issuer }| ProviderRow {
        name: Some(name),
        title,
        issuer,
        since: None,
    });
    let mut ways: Vec<ProviderRow> = set_up.collect();
    for LinkedIdentity { identity, linked_at } in linked {
        let (issuer, since) = (identity.issuer, Some(linked_at));
        match ways.iter_mut().find(|way| way.issuer == issuer) {
            Some(way) => way.since = since,
            None => ways.push(ProviderRow { name: None, title: issuer.clone(), issuer, since }),
        }
    }
    Ok(ways)
}

/// `GET /account/export`.
pub(super) async fn export(State(app): State<AccountsApp>, me: Me) -> HttpResult {
    exported(&app, me.session, me.asked.client).await
}
