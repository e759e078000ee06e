//! How several handlers answer.

use axum::response::{IntoResponse, Response};
use http::header;
use lodge_domain::{Done, Result};

use crate::{edge::idempotency, error::Problem};

/// What was done, or refused, and whether that was so the first time already.
pub(crate) fn told<T>(done: Done<Result<T>>, answer: impl FnOnce(T) -> Response) -> Response {
    let response = done.outcome.map_or_else(|error| Problem::from(error).into_response(), answer);
    marked(response, done.replayed)
}

/// Marks an answer that was not computed anew.
pub(crate) fn marked(mut response: Response, replayed: bool) -> Response {
    if replayed {
        let (name, value) = idempotency::REPLAYED;
        response.headers_mut().insert(name, value);
    }
    response
}

/// For nobody but who asked.
pub(crate) fn private(answer: impl IntoResponse) -> Response {
    ([(header::CACHE_CONTROL, "private, no-store")], answer).into_response()
}
