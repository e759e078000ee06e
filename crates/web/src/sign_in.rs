//! The sign-in page, for account passwords and API keys.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{extract::State, response::Response};
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use lodge_domain::{
    Error,
    accounts::{AccountsClient, FreshSession, Provider, SessionDigest, SignIn},
    links::RESERVED,
    passwords::Password,
    secret::SecretText,
};
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use crate::{
    context::SiteContext,
    error::{HttpResult, Problem},
    pages::{page, redirect_to, words},
    request::{CredentialRateLimit, FormBody, QueryParams, RequestContext},
    routes::Routes,
    session,
};

/// The routes of sign-in and sign-out, which all apps share.
pub(crate) fn routes() -> Routes<Arc<SiteContext>> {
    Routes::default().on(Method::GET, "/login", form).on(Method::POST, "/login", begin).on(
        Method::POST,
        "/logout",
        end,
    )
}

/// Has browsers delete what pages of the site have stored in them.
const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
const STORAGE: HeaderValue = HeaderValue::from_static("\"storage\"");

/// The timeout for the list of providers.
const PROVIDERS_PATIENCE: Duration = Duration::from_millis(500);

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    signed_in_as: Option<&'a str>,
    /// Whether accounts are enabled.
    accounts: bool,
    /// The path of the sign-up form, if sign-up is open.
    sign_up: Option<&'static str>,
    /// Providers offered beside the password.
    providers: &'a [Provider],
    /// Whether API keys are accepted: they own links.
    keys: bool,
    typed: &'a SignInForm,
    /// Whether to tell the visitor that there is no admin yet.
    offers_setup: bool,
    /// The error of username and password.
    wrong: Option<&'a str>,
    /// The error of the API key.
    wrong_key: Option<&'a str>,
}

/// Paths of pages that need a sign-in, and what the sign-in page says to a visitor from there.
const PURPOSES: [(&str, &str); 5] = [
    ("/links", "Sign in to see your links."),
    ("/board", "The board is for members. Sign in to read and write."),
    ("/rides/passes", "Sign in to see your lift passes."),
    ("/account", "Sign in to see your account."),
    ("/admin", "Sign in as an administrator or a moderator."),
];

impl LoginPage<'_> {
    /// Why the visitor should sign in, if a page that needs a sign-in led here.
    fn purpose(&self) -> Option<&'static str> {
        let next = self.typed.next.split('?').next().unwrap_or_default();
        let leads_to = |path: &str| {
            next.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let purpose = PURPOSES.iter().find(|(path, _)| leads_to(path));
        purpose.filter(|_| self.signed_in_as.is_none()).map(|(_, text)| *text)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SignInForm {
    username: String,
    password: String,
    api_key: String,
    next: String,
}

/// The query parameter with the path to go to after a sign-in.
#[derive(Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    pub(crate) next: String,
}

/// `GET /login`.
async fn form(
    State(site): State<Arc<SiteContext>>,
    QueryParams(Next { next }): QueryParams<Next>,
    asked: RequestContext,
) -> HttpResult {
    let person = session::page_caller(&site, &asked).await?;
    let typed = SignInForm { next, ..SignInForm::default() };
    let name = person.as_ref().map(session::PageCaller::name);
    let providers = providers(&site).await;
    let offers_setup = site.offers_setup(&asked).await;
    let login = LoginPage { offers_setup, ..login(&site, &providers, &typed, name) };
    page(&site, StatusCode::OK, &login)
}

/// Returns an empty list if accounts do not respond in time, so that sign-in with an API key still works.
async fn providers(site: &SiteContext) -> Vec<Provider> {
    let Some(accounts) = &site.accounts else { return Vec::new() };
    match timeout(PROVIDERS_PATIENCE, accounts.providers()).await {
        Ok(Ok(providers)) => providers,
        _ => Vec::new(),
    }
}

fn login<'a>(
    site: &SiteContext,
    providers: &'a [Provider],
    typed: &'a SignInForm,
    signed_in_as: Option<&'a str>,
) -> LoginPage<'a> {
    LoginPage {
        signed_in_as,
        accounts: site.accounts.is_some(),
        sign_up: site.open_sign_up.then_some("/signup"),
        providers,
        keys: site.navigation.has("links"),
        typed,
        offers_setup: false,
        wrong: None,
        wrong_key: None,
    }
}

/// `POST /login`.
async fn begin(
    State(site): State<Arc<SiteContext>>,
    _: CredentialRateLimit,
    asked: RequestContext,
    FormBody(form): FormBody<SignInForm>,
) -> HttpResult {
    match &site.accounts {
        Some(accounts) if form.api_key.is_empty() => {
            with_password(&site, accounts, &asked, form).await
        }
        _ => with_key(&site, &asked, form).await,
    }
}

async fn with_key(site: &SiteContext, asked: &RequestContext, form: SignInForm) -> HttpResult {
    match site.keys.authenticate(form.api_key.trim()).await {
        Ok(key) => {
            end_previous_session(site, asked).await?;
            signed_in(&form.next, "/links", [session::begin_key(site, asked, key.id).await?])
        }
        Err(Error::Unauthenticated(_)) => {
            let wrong_key = Some("This API key is unknown or revoked.");
            let providers = providers(site).await;
            let again = LoginPage { wrong_key, ..login(site, &providers, &form, None) };
            page(site, StatusCode::FORBIDDEN, &again)
        }
        Err(error) => Err(error.into()),
    }
}

async fn with_password(
    site: &SiteContext,
    accounts: &AccountsClient,
    asked: &RequestContext,
    form: SignInForm,
) -> HttpResult {
    let device = session::device(asked);
    match begin_session(accounts, asked, &form.username, &form.password, device).await {
        Ok(fresh) => {
            end_previous_session(site, asked).await?;
            signed_in(&form.next, home(site), session::begin_account(asked, &fresh)?)
        }
        Err(error) => refused(site, &form, error).await,
    }
}

/// Begins a session for a username and password; `device` is what the account knows this device by.
pub(crate) async fn begin_session(
    accounts: &AccountsClient,
    asked: &RequestContext,
    username: &str,
    password: &str,
    device: Option<SecretText>,
) -> Result<FreshSession, Error> {
    let request = SignIn {
        username: username.to_owned(),
        password: Password::parse("password", password.to_owned())?,
        from: asked.client.limited_by(),
        agent: asked.agent().to_owned(),
        device,
    };
    accounts.sign_in(request).await
}

/// Shows the form again. A malformed password counts as a wrong one.
async fn refused(site: &SiteContext, typed: &SignInForm, error: Error) -> HttpResult {
    let problem = Problem::from(error);
    let wrong = match problem.status {
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED => {
            "Wrong username or password.".to_owned()
        }
        status if status.is_server_error() => return Err(problem),
        _ => words::sentence(&problem.detail),
    };
    let providers = providers(site).await;
    let again = LoginPage { wrong: Some(&wrong), ..login(site, &providers, typed, None) };
    // Not 401: that asks for an Authorization header, which a form cannot send.
    let status = if problem.status == StatusCode::TOO_MANY_REQUESTS {
        problem.status
    } else {
        StatusCode::FORBIDDEN
    };
    let mut response = page(site, status, &again)?;
    problem.say_when(response.headers_mut());
    Ok(response)
}

/// The default path after a sign-in to an account.
pub(crate) fn home(site: &SiteContext) -> &'static str {
    if site.navigation.has("links") { "/links" } else { "/account" }
}

/// Continues at `next` or else at `home`, and sets the cookies.
pub(crate) fn signed_in(
    next: &str,
    home: &str,
    cookies: impl IntoIterator<Item = HeaderValue>,
) -> HttpResult {
    let mut response = redirect_to(own_path(next).unwrap_or(home))?;
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Returns `next`, if it is the path of a page of this site.
pub(crate) fn own_path(next: &str) -> Option<&str> {
    Some(next).filter(|next| is_own_path(next) && leads_to_page(next))
}

/// Whether every browser reads `next` as a path of this site.
fn is_own_path(next: &str) -> bool {
    let is_plain = next.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    is_plain && next.starts_with('/') && !next.starts_with("//")
}

/// Whether the path, as a browser resolves it, is the front page or below a reserved name. Other paths are short links,
/// which lead to other sites.
fn leads_to_page(path: &str) -> bool {
    let Ok(url) = Url::parse("http://site.invalid").and_then(|site| site.join(path)) else {
        return false;
    };
    let first = url.path_segments().and_then(|mut segments| segments.next());
    url.path() == "/" || first.is_some_and(|first| RESERVED.contains(&first))
}

/// `POST /logout`.
async fn end(State(site): State<Arc<SiteContext>>, asked: RequestContext) -> HttpResult {
    end_previous_session(&site, &asked).await?;
    signed_out(&asked, "/")
}

/// Redirects to `path` and signs the browser out.
pub(crate) fn signed_out(asked: &RequestContext, path: &str) -> HttpResult {
    sign_browser_out(asked, redirect_to(path)?)
}

/// Deletes the session cookie, and has the browser delete what pages have stored, such as unsent messages.
pub(crate) fn sign_browser_out(asked: &RequestContext, mut response: Response) -> HttpResult {
    response.headers_mut().append(header::SET_COOKIE, session::end(asked)?);
    response.headers_mut().insert(CLEAR_SITE_DATA, STORAGE);
    Ok(response)
}

/// Ends the session of the browser, so that none stays open without a cookie.
pub(crate) async fn end_previous_session(
    site: &SiteContext,
    asked: &RequestContext,
) -> Result<(), Error> {
    let Some(token) = session::cookie(&asked.headers, asked.over_tls()) else { return Ok(()) };
    site.key_sessions.end(token).await?;
    let session = SessionDigest::of_token(token);
    let Some((accounts, session)) = site.accounts.as_ref().zip(session) else { return Ok(()) };
    match accounts.sign_out(session).await {
        // Already ended.
        Err(Error::Unauthenticated(_) | Error::NotFound(_)) | Ok(()) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use lodge_domain::accounts::ProviderName;

    use super::*;
    use crate::pages::check::{self, HOSTILE_INPUT};

    #[test]
    fn redirects_after_a_sign_in_stay_on_this_site() {
        for path in ["/links", "/account?saved", "/links/a/stats?by=hour"] {
            assert!(is_own_path(path), "{path}");
        }
        for path in
            ["", "links", "//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nb: c"]
        {
            assert!(!is_own_path(path), "{path:?}");
        }
    }

    #[test]
    fn a_sign_in_never_leads_to_a_short_link() {
        for path in ["/", "/?saved", "/board/lobby", "/admin", "/links/../account"] {
            assert_eq!(own_path(path), Some(path));
        }
        for path in [
            "/promo",
            "/promo?a=b",
            "/promo/",
            "/Links",
            "/links/../promo",
            "/links/%2e%2E/promo",
            "/./promo",
            "/%6cinks",
            "/account/.././/promo",
        ] {
            assert_eq!(own_path(path), None, "{path}");
        }
    }

    #[test]
    fn typed_text_is_escaped_and_passwords_are_not_shown_again() {
        let typed = SignInForm {
            username: HOSTILE_INPUT.to_owned(),
            password: "correct horse".to_owned(),
            next: HOSTILE_INPUT.to_owned(),
            ..SignInForm::default()
        };
        let name = ProviderName::parse("acme").unwrap();
        let providers =
            [Provider { name, title: HOSTILE_INPUT.to_owned(), issuer: HOSTILE_INPUT.to_owned() }];
        for (accounts, keys) in [(true, true), (true, false), (false, true)] {
            let html = check::rendered(&LoginPage {
                signed_in_as: Some(HOSTILE_INPUT),
                accounts,
                sign_up: accounts.then_some("/signup"),
                providers: &providers,
                keys,
                typed: &typed,
                offers_setup: accounts,
                wrong: Some(HOSTILE_INPUT),
                wrong_key: Some(HOSTILE_INPUT),
            });
            assert!(!html.contains("correct horse"), "{html}");
            assert_eq!(html.contains("Create an account"), accounts);
        }
    }

    #[test]
    fn the_sign_in_page_says_why_it_was_shown() {
        let purpose = |next: &str| {
            let typed = SignInForm { next: next.to_owned(), ..SignInForm::default() };
            let page = LoginPage {
                signed_in_as: None,
                accounts: true,
                sign_up: None,
                providers: &[],
                keys: false,
                typed: &typed,
                offers_setup: false,
                wrong: None,
                wrong_key: None,
            };
            page.purpose()
        };
        assert_eq!(purpose("/links"), Some("Sign in to see your links."));
        assert_eq!(purpose("/links?tag=a"), Some("Sign in to see your links."));
        assert!(purpose("/board/lobby").is_some_and(|text| text.contains("members")));
        assert_eq!((purpose(""), purpose("/linksx"), purpose("/")), (None, None, None));
    }
}
