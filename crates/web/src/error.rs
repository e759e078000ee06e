//! The only mapping from errors to HTTP statuses. A handler returns a [`Problem`]; the format of its body is chosen
//! later, by the request.

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use lodge_domain::{
    Error,
    error::{chain, whole_seconds},
};
use serde::Serialize;
use utoipa::ToSchema;

/// The result of a handler.
pub(crate) type HttpResult<T = Response> = Result<T, Problem>;

/// An error response without its body.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// The status.
    pub(crate) status: StatusCode,
    /// The message for the caller.
    pub(crate) detail: String,
    /// The wrong field, parameter or header, as the caller names it.
    pub(crate) field: Option<Cow<'static, str>>,
    /// The value of `Retry-After`.
    pub(crate) retry_after: Option<Duration>,
    /// The internal cause, for the log only.
    pub(crate) cause: Option<Arc<str>>,
}

impl Problem {
    /// A problem of HTTP itself, not of a domain rule.
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), field: None, retry_after: None, cause: None }
    }

    /// Adds `Retry-After`, if known.
    pub(crate) fn say_when(&self, headers: &mut HeaderMap) {
        say_when(self.retry_after, headers);
    }

    /// The reason phrase of the status.
    pub(crate) fn title(&self) -> &'static str {
        self.status.canonical_reason().unwrap_or("Error")
    }
}

/// An error, as RFC 9457 problem details.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDetails<'a> {
    #[schema(example = "about:blank")]
    pub(crate) r#type: &'static str,
    /// The reason phrase of the status.
    #[schema(example = "Bad Request")]
    pub(crate) title: &'a str,
    #[schema(example = 400)]
    pub(crate) status: u16,
    /// What is wrong, and what would be right.
    #[schema(example = "max_clicks: must be between 1 and 1,000,000,000, not 0")]
    pub(crate) detail: &'a str,
    /// The wrong field, parameter or header, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "max_clicks")]
    pub(crate) field: Option<&'a str>,
    /// The id of the request, as in the header `X-Request-Id` and in the server's log.
    #[schema(example = "0123456789abcdef")]
    pub(crate) request_id: &'a str,
}

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

/// Adds `Retry-After`, if known.
pub(crate) fn say_when(retry_after: Option<Duration>, headers: &mut HeaderMap) {
    if let Some(after) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
    }
}

/// Stores the problem in the extensions; its body is written when the format is known.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
