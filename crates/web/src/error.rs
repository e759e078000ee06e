//! The one place where errors become HTTP. A handler answers with a [`Problem`]; what its text and
//! form are to the caller (RFC 9457 problem details, a page, or a message) is decided when the request is
//! known.

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lodge_domain::Error;
use serde::Serialize;

use crate::{
    edge::request_id::RequestId,
    pages::{self, Navigation, Subject},
};

/// The result of a handler.
pub type HttpResult<T = Response> = Result<T, Problem>;

/// Why a request was not answered as asked.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The status.
    pub status: StatusCode,
    /// What the caller may read.
    pub detail: String,
    /// The field that it is about, as the caller names it.
    pub field: Option<Cow<'static, str>>,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// What only the log may say.
    pub cause: Option<Arc<str>>,
}

#[derive(Serialize)]
struct ProblemDetails<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    request_id: &'a str,
}

/// The form in which a caller is told of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// A page under this navigation.
    Page(Navigation, Subject),
    /// Problem details.
    Details,
    /// `{"message": …}`, as clients of the published API of lift rides expect it.
    Message,
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

impl Problem {
    /// A problem of HTTP itself, which no rule knows.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), field: None, retry_after: None, cause: None }
    }

    /// Writes it out for the caller who sent the request. Headers that a route has set already stay.
    pub(crate) fn render(&self, response: Response, form: Form, id: &RequestId) -> Response {
        let (mut parts, _) = response.into_parts();
        parts.status = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            parts.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        let (kind, body) = match form {
            Form::Page(navigation, subject) => {
                (HTML, pages::problem(self, navigation, subject, id))
            }
            Form::Details => (PROBLEM_JSON, self.to_json(id)),
            Form::Message => (JSON, self.to_message()),
        };
        parts.headers.insert(header::CONTENT_TYPE, kind);
        parts.headers.remove(header::CONTENT_LENGTH);
        self.say_when(&mut parts.headers);
        Response::from_parts(parts, body.into())
    }

    /// Says when to try again, where that is known.
    pub fn say_when(&self, headers: &mut HeaderMap) {
        if let Some(after) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
        }
    }

    /// The status in words.
    pub fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }

    fn to_json(&self, id: &RequestId) -> String {
        let details = ProblemDetails {
            r#type: "about:blank",
            title: self.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            field: self.field.as_deref(),
            request_id: id.as_str(),
        };
        serde_json::to_string(&details).unwrap_or_default()
    }

    fn to_message(&self) -> String {
        serde_json::to_string(&Message { message: &self.detail }).unwrap_or_default()
    }
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, field, retry_after) = match &error {
            Error::Invalid { field, .. } => (StatusCode::BAD_REQUEST, Some(field.clone()), None),
            Error::Unauthenticated(_) => (StatusCode::UNAUTHORIZED, None, None),
            Error::Forbidden(_) => (StatusCode::FORBIDDEN, None, None),
            Error::NotFound(_) => (StatusCode::NOT_FOUND, None, None),
            Error::Gone(_) => (StatusCode::GONE, None, None),
            Error::Conflict(_) => (StatusCode::CONFLICT, None, None),
            Error::Stale => (StatusCode::PRECONDITION_FAILED, None, None),
            Error::KeyReused => {
                (StatusCode::UNPROCESSABLE_ENTITY, Some("Idempotency-Key".into()), None)
            }
            Error::TooMany { retry_after } => {
                (StatusCode::TOO_MANY_REQUESTS, None, Some(*retry_after))
            }
            Error::Unavailable { retry_after, .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, None, Some(*retry_after))
            }
            Error::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, None, None),
        };
        let cause = std::error::Error::source(&error).map(|source| chain(source).into());
        Self { status, detail: error.to_string(), field, retry_after, cause }
    }
}

/// Rounded up, and never none.
fn whole_seconds(duration: Duration) -> u64 {
    (duration.as_secs() + u64::from(duration.subsec_nanos() > 0)).max(1)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

/// Leaves the body to whoever renders it when the request is known.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
