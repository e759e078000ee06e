//! Responses that several handlers share.

use axum::response::{IntoResponse, Response};
use http::header;
use lodge_domain::{Idempotent, Result};

use crate::{edge::idempotency, error::Problem};

/// Renders the outcome of an idempotent write; a replayed one is marked.
pub(crate) fn respond<T>(
    done: Idempotent<Result<T>>,
    answer: impl FnOnce(T) -> Response,
) -> Response {
    let response = done.outcome.map_or_else(|error| Problem::from(error).into_response(), answer);
    mark_replayed(response, done.replayed)
}

/// Adds `Idempotency-Replayed` to a stored response.
pub(crate) fn mark_replayed(mut response: Response, replayed: bool) -> Response {
    if replayed {
        let (name, value) = idempotency::REPLAYED;
        response.headers_mut().insert(name, value);
    }
    response
}

/// Forbids every cache to store the response.
pub(crate) fn private(answer: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, "private, no-store")], answer).into_response()
}
