//! Reading JSON, and saying what is wrong with it.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequest, Request};
use http::{HeaderMap, StatusCode, header};
use lodge_domain::{Error, Result};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{body::Whole, context::SiteContext, error::Problem, request::unquoted};

/// A request's body, read as JSON.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T>
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let headers = request.headers().clone();
        let Whole(body) = Whole::from_request(request, state).await?;
        body_of(&headers, &body).map(Self)
    }
}

/// Reads a body that is JSON of any kind.
pub(crate) fn body_of<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    if is_of_kind(headers, &["application/json"]).is_err() {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "the body must be application/json"));
    }
    read(body, |error| error.to_string()).map_err(unquoted)
}

/// Whether a body is of one of these kinds, or nobody said of which it is.
pub(crate) fn is_of_kind(headers: &HeaderMap, kinds: &[&'static str]) -> Result<()> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(Error::invalid("Content-Type", format!("must be {}", kinds.join(" or "))))
}

/// Reads a JSON object, borrowing from it; of what is wrong with it only the beginning is told again.
pub(crate) fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    // An array of the fields' values would be taken as well.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(Error::invalid("body", "must be a JSON object"));
    }
    read(json, |error| {
        let path = error.path().to_string();
        let said = short(&error.into_inner().to_string());
        // A field that there is not is named by what is said of it; one that was not read to its end is `?`.
        let is_known = path != "." && !path.contains('?') && path.len() <= FIELD_BYTES_MAX;
        if is_known { format!("{path}: {said}") } else { said }
    })
}

/// Reads JSON to its end. Which field is wrong is only looked up when one is: that reads it again, and costs as much
/// as the rest.
fn read<'a, T: Deserialize<'a>>(
    json: &'a [u8],
    told: impl FnOnce(serde_path_to_error::Error<serde_json::Error>) -> String,
) -> Result<T> {
    serde_json::from_slice(json).or_else(|_| {
        let mut json = serde_json::Deserializer::from_slice(json);
        let read = serde_path_to_error::deserialize(&mut json).map_err(told);
        let read =
            read.and_then(|read| json.end().map(|()| read).map_err(|error| error.to_string()));
        read.map_err(|error| {
            Error::invalid("body", format!("is not the JSON that belongs here: {error}"))
        })
    })
}

/// A field that may be left out. `null` is a value, and none that belongs there.
pub(crate) fn not_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A field, or a parameter, that has to be there.
pub(crate) fn given<T>(field: &'static str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::invalid(field, "is missing"))
}

/// The longest name of a field that there is, in bytes.
const FIELD_BYTES_MAX: usize = 16;

/// The longest part of what somebody sent that they are told again, in characters, with a few words.
const ECHO_MAX: usize = 48;

/// What the parser said; of what it repeats only the beginning, so that an answer is not as long as what it is
/// about.
fn short(said: &str) -> String {
    let (repeated, expected) = said.rfind(", expected").map_or((said, ""), |at| said.split_at(at));
    match repeated.char_indices().nth(ECHO_MAX) {
        None => said.to_owned(),
        Some((end, _)) => format!("{}…{expected}", &repeated[..end]),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Name<'a> {
        name: &'a str,
    }

    #[test]
    fn what_is_wrong_with_an_object_is_said_with_its_field() {
        assert_eq!(object::<Name>(b" {\"name\":\"x\"}\r").unwrap().name, "x");
        for (json, word) in [
            ("", "object"),
            ("[\"x\"]", "object"),
            ("\"x\"", "object"),
            ("{\"name\":1}", "name: invalid type"),
            ("{\"nam\":\"x\"}", "unknown field `nam`"),
            ("{}", "missing field `name`"),
            ("{\"name\":\"x\",\"name\":\"x\"}", "duplicate field `name`"),
            ("{\"name\":\"x\"}{}", "trailing characters"),
            ("{\"name\":", "EOF"),
            ("{\"name\"", "here: EOF"),
            ("{\"na", "here: EOF"),
            ("{", "here: EOF"),
        ] {
            let error = object::<Name>(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains('?'), "{json}: {error}");
        }
    }

    #[test]
    fn of_what_is_wrong_only_the_beginning_is_told_again() {
        let long = "ä".repeat(400);
        for (json, word) in [
            (format!("{{\"{long}\":1}}"), "unknown field `ää"),
            (format!("{{\"{}, expected\":1}}", "ä".repeat(400)), "unknown field `ää"),
            (format!("{{\"name\":{{\"{long}\":1}}}}"), "name: invalid type: map"),
        ] {
            let error = object::<Name>(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word) && error.contains(", expected "), "{error}");
            assert!(error.chars().count() < 260, "{error}");
        }
    }

    #[test]
    fn a_kind_may_be_left_out_but_not_be_another() {
        let is = |kind: &'static str| {
            let headers =
                HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            is_of_kind(&headers, &["application/json"]).is_ok()
        };
        assert!(is_of_kind(&HeaderMap::new(), &["application/json"]).is_ok());
        assert!(is("application/json") && is("Application/JSON ; charset=utf-8"));
        assert!(!is("text/plain") && !is("") && !is("application/jsonx"));
    }
}
