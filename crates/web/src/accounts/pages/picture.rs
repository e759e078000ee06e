//! One's picture, sent with a form.

use std::convert::Infallible;

use axum::{body::Body, extract::State};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, StatusCode, header};
use lodge_domain::Error;
use multer::Multipart;

use super::{
    Me,
    account::{self, View},
    me,
    profile::ProfileForm,
    sign_in_first,
};
use crate::{
    accounts::{app::AccountsApp, picture},
    error::{HttpResult, Problem},
    pages::{errors::FormErrors, go_to},
    request::Asked,
};

/// The name of the field.
const FIELD: &str = "picture";

/// What a form may hold beside the file, in bytes.
const BESIDE: usize = 4 << 10;

/// `POST /account/picture`.
pub(super) async fn set(State(app): State<AccountsApp>, asked: Asked, body: Body) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    picture::admit(&app, asked.client, me.session).await?;
    let body = picture::read(&app, body, BESIDE).await?;
    let set = match uploaded(&asked.headers, body).await {
        Ok(upload) => picture::set(&app, me.session, upload).await,
        Err(error) => Err(error.into()),
    };
    match set {
        Ok(_) => go_to("/account?saved"),
        Err(problem) => again(&app, &me, problem).await,
    }
}

/// The file in the form.
async fn uploaded(headers: &HeaderMap, body: Bytes) -> Result<Bytes, Error> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let boundary = multer::parse_boundary(kind.unwrap_or_default()).map_err(|_| no_file())?;
    let body = stream::iter([Ok::<_, Infallible>(body)]);
    let mut form = Multipart::new(body, boundary);
    while let Some(field) = form.next_field().await.map_err(|_| no_file())? {
        if field.name() == Some(FIELD) {
            let bytes = field.bytes().await.map_err(|_| no_file())?;
            return if bytes.is_empty() { Err(no_file()) } else { Ok(bytes) };
        }
    }
    Err(no_file())
}

fn no_file() -> Error {
    Error::invalid(FIELD, "must be a file; choose one first")
}

/// The page once more, with what is wrong.
async fn again(app: &AccountsApp, me: &Me, problem: Problem) -> HttpResult {
    if problem.status.is_server_error() || problem.status == StatusCode::UNAUTHORIZED {
        return Err(problem);
    }
    let (status, detail) = (problem.status, &problem.detail);
    let why = detail.split_once(": ").map_or(detail.as_str(), |(_, reason)| reason);
    let errors = FormErrors::about(FIELD, &format!("the picture {why}"));
    let form = ProfileForm::of(&me.signed_in.account);
    account::page(app, me, status, View { notice: None, form: &form, errors: &errors }).await
}

/// `POST /account/picture/delete`.
pub(super) async fn take_away(State(app): State<AccountsApp>, asked: Asked) -> HttpResult {
    let Some(me) = me(&app, &asked).await? else { return sign_in_first() };
    app.pictures.take_away(me.session).await?;
    go_to("/account?saved")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    async fn of_form(kind: &'static str, body: &'static str) -> Result<Bytes, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        uploaded(&headers, Bytes::from_static(body.as_bytes())).await
    }

    #[tokio::test]
    async fn the_file_is_found_in_the_form_and_nowhere_else() {
        let kind = "multipart/form-data; boundary=x";
        let whole = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
            --x\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\n\
            Content-Type: image/png\r\n\r\nbytes\r\n--x--\r\n";
        assert_eq!(of_form(kind, whole).await.unwrap(), "bytes");
        for (kind, body) in [
            ("text/plain", whole),
            ("multipart/form-data", whole),
            (kind, ""),
            (kind, "--x--\r\n"),
            (kind, &whole[..whole.len() - 12]),
            (kind, "--x\r\nContent-Disposition: form-data; name=\"picture\"\r\n\r\n\r\n--x--\r\n"),
        ] {
            assert!(of_form(kind, body).await.is_err(), "{kind}: {body}");
        }
    }
}
