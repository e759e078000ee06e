//! Signing in with an API key, so that pages know whose they are.

use askama::Template;
use axum::extract::State;
use http::{StatusCode, header};
use lodge_domain::Error;
use serde::Deserialize;

use super::go_to;
use crate::{
    edge::limits,
    error::HttpResult,
    links::app::LinksApp,
    pages,
    request::{self, Asked, Whole},
    session,
};

#[derive(Template)]
#[template(path = "links/login.html")]
pub(super) struct LoginPage<'a> {
    pub(super) signed_in_as: Option<&'a str>,
    pub(super) wrong: Option<&'a str>,
}

/// `GET /login`.
pub(super) async fn form(State(app): State<LinksApp>, asked: Asked) -> HttpResult {
    let key = session::owner(&app.site, &asked).await?;
    let signed_in_as = key.as_ref().map(|key| key.name.as_str());
    Ok(pages::page(StatusCode::OK, &LoginPage { signed_in_as, wrong: None })?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyForm {
    api_key: String,
}

/// `POST /login`.
pub(super) async fn begin(
    State(app): State<LinksApp>,
    asked: Asked,
    Whole(body): Whole,
) -> HttpResult {
    limits::take(app.site.attempts.as_ref(), asked.client)?;
    let KeyForm { api_key } = request::form(&body)?;
    match app.site.keys.authenticate(api_key.trim()).await {
        Ok(key) => {
            let mut response = go_to("/links")?;
            response
                .headers_mut()
                .append(header::SET_COOKIE, session::begin(&app.site, key.id, asked.at)?);
            Ok(response)
        }
        Err(Error::Unauthenticated(_)) => {
            let wrong = Some("This API key is not known, or was revoked.");
            Ok(pages::page(StatusCode::FORBIDDEN, &LoginPage { signed_in_as: None, wrong })?)
        }
        Err(error) => Err(error.into()),
    }
}

/// `POST /logout`.
pub(super) async fn end(State(app): State<LinksApp>) -> HttpResult {
    let mut response = go_to("/")?;
    response.headers_mut().append(header::SET_COOKIE, session::end(&app.site)?);
    Ok(response)
}
