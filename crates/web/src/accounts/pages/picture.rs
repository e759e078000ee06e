//! The form that uploads a picture.

use axum::{body::Body, extract::State};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use lodge_domain::{Error, accounts::Account};

use super::{account, me::Me};
use crate::{
    accounts::{app::AccountsApp, picture},
    error::{HttpResult, Problem},
    multipart::MultipartForm,
    pages::{errors::FormErrors, redirect_to},
    pictures::Uploads,
};

/// The name of the file field.
const FIELD: &str = "picture";

/// The limit of the form without its file, in bytes.
const BESIDE: usize = 4 << 10;

/// `POST /account/picture`.
pub(super) async fn set(State(app): State<AccountsApp>, me: Me, body: Body) -> HttpResult {
    app.uploads.admit(me.asked.client)?;
    match sent(&app, &me, body).await {
        Ok(_) => redirect_to("/account?saved"),
        Err(problem) => again(&app, &me, problem).await,
    }
}

async fn sent(app: &AccountsApp, me: &Me, body: Body) -> Result<Account, Problem> {
    let mut body = app.uploads.read(me.asked.client, body, BESIDE).await?;
    body.bytes = uploaded(&app.uploads, &me.asked.headers, body.bytes).await?;
    picture::set(app, me.session, &me.signed_in, body).await
}

/// Extracts the file from the form.
async fn uploaded(uploads: &Uploads, headers: &HeaderMap, body: Bytes) -> Result<Bytes, Problem> {
    let file = file(headers, body, uploads.bytes_max()).await;
    let file = file.map_err(|error| match error {
        multer::Error::FieldSizeExceeded { .. } => uploads.too_long(),
        _ => no_file().into(),
    })?;
    file.filter(|file| !file.is_empty()).ok_or_else(|| no_file().into())
}

async fn file(
    headers: &HeaderMap,
    body: Bytes,
    bytes_max: usize,
) -> Result<Option<Bytes>, multer::Error> {
    let MultipartForm { file, .. } =
        MultipartForm::read(headers, body, &[], FIELD, bytes_max).await?;
    Ok(file)
}

fn no_file() -> Error {
    Error::invalid(FIELD, "is missing; choose a file first")
}

/// Shows the page again with the error.
async fn again(app: &AccountsApp, me: &Me, problem: Problem) -> HttpResult {
    if problem.status == StatusCode::UNAUTHORIZED {
        return Err(problem);
    }
    account::again(app, me, &FormErrors::of_refusal(problem, FIELD)?).await
}

/// `POST /account/picture/delete`.
pub(super) async fn take_away(State(app): State<AccountsApp>, me: Me) -> HttpResult {
    app.pictures.take_away(me.session).await?;
    redirect_to("/account?saved")
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    async fn of_form(kind: &'static str, body: &'static str) -> Option<Bytes> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        file(&headers, Bytes::from_static(body.as_bytes()), 5).await.ok().flatten()
    }

    #[tokio::test]
    async fn the_file_is_found_in_the_form_and_nowhere_else() {
        let kind = "multipart/form-data; boundary=x";
        let whole = "--x\r\nContent-Disposition: form-data; name=\"picture\"; filename=\"a.png\"\r\n\
            Content-Type: image/png\r\n\r\nbytes\r\n--x--\r\n";
        assert_eq!(of_form(kind, whole).await.unwrap(), "bytes");
        for (kind, body) in [
            ("text/plain", whole),
            ("multipart/form-data", whole),
            (kind, ""),
            (kind, "--x--\r\n"),
            (kind, &whole[..whole.len() - 12]),
            (kind, "--x\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n1\r\n--x--\r\n"),
            (
                kind,
                "--x\r\nContent-Disposition: form-data; name=\"picture\"\r\n\r\n123456\r\n--x--\r\n",
            ),
        ] {
            assert_eq!(of_form(kind, body).await, None, "{kind}: {body}");
        }
    }
}
