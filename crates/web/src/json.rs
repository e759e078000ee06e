//! JSON parsing with errors that name the wrong field.

use std::{borrow::Cow, sync::Arc};

use axum::extract::{FromRef, FromRequest, Request};
use http::{HeaderMap, StatusCode, header};
use lodge_domain::{Error, Result};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{body::FullBody, context::SiteContext, error::Problem, request::unquoted};

/// An extractor that parses the body as JSON.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T>
where
    Arc<SiteContext>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let headers = request.headers().clone();
        let FullBody(body) = FullBody::from_request(request, state).await?;
        body_of(&headers, &body).map(Self)
    }
}

/// Parses a JSON body, which is an object.
pub(crate) fn body_of<T: DeserializeOwned>(headers: &HeaderMap, body: &[u8]) -> Result<T, Problem> {
    if is_of_kind(headers, &["application/json"]).is_err() {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(Problem::new(status, "the Content-Type must be application/json"));
    }
    object(body).map_err(unquoted)
}

/// Checks that `Content-Type` is absent or one of `kinds`.
pub(crate) fn is_of_kind(headers: &HeaderMap, kinds: &[&'static str]) -> Result<()> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(Error::invalid("Content-Type", format!("must be {}", kinds.join(" or "))))
}

/// Parses a JSON object that may borrow from the input. Errors quote only the beginning of the input.
pub(crate) fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    check_object(json)?;
    read(json)
}

/// Refuses JSON that is no object: of a struct, Serde would also accept an array of the field values.
fn check_object(json: &[u8]) -> Result<()> {
    if json.trim_ascii_start().first() == Some(&b'{') {
        return Ok(());
    }
    Err(NOT_AN_OBJECT)
}

const NOT_AN_OBJECT: Error =
    Error::Invalid { field: Cow::Borrowed("body"), reason: Cow::Borrowed("must be a JSON object") };

/// Parses JSON to its end. The path of a wrong field is looked up only after a failure, with a second pass that costs
/// as much as the first.
fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    serde_json::from_slice(json).or_else(|_| {
        let mut json = serde_json::Deserializer::from_slice(json);
        let read = serde_path_to_error::deserialize(&mut json).map_err(wrong_field)?;
        json.end().map(|()| read).map_err(|error| wrong_body(&error))
    })
}

/// Converts an object within a body, with the same errors as for a whole body.
pub(crate) fn nested_object<T: DeserializeOwned>(json: serde_json::Value) -> Result<T> {
    if json.is_object() {
        serde_path_to_error::deserialize(json).map_err(wrong_field)
    } else {
        Err(NOT_AN_OBJECT)
    }
}

/// The error of the field that the parser could not accept, or of the whole body.
fn wrong_field(error: serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().to_string();
    let error = error.into_inner();
    let said = error.to_string();
    // The path does not lead to a field that is missing or repeated.
    let named = said.strip_prefix("missing field `").or(said.strip_prefix("duplicate field `"));
    let field = named.unwrap_or(&path).split(['`', '.', '[']).next().unwrap_or_default();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_field = (1..=FIELD_BYTES_MAX).contains(&field.len()) && field.bytes().all(is_name);
    if is_field && error.is_data() {
        Error::Invalid { field: field.to_owned().into(), reason: plain(&error).into() }
    } else {
        wrong_body(&error)
    }
}

fn wrong_body(error: &serde_json::Error) -> Error {
    Error::invalid("body", format!("is not the expected JSON: {}", plain(error)))
}

/// Shortens a parser message, and replaces the Rust type that it expected.
fn plain(error: &serde_json::Error) -> String {
    let said = short(&error.to_string());
    let Some((repeated, expected)) = said.rsplit_once(", expected ") else { return said };
    let Some((kind, place)) = expected.split_once(" at ") else { return said };
    let kind = match kind {
        "u8" | "u16" | "u32" | "u64" | "i64" | "usize" => "a whole number in the documented range",
        "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "an object",
        _ if kind.starts_with("struct ") => "an object",
        _ => return said,
    };
    format!("{repeated}, expected {kind} at {place}")
}

/// Deserializes an optional field that may be absent but not `null`.
pub(crate) fn not_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// Returns a required field or parameter.
pub(crate) fn required<T>(field: &'static str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::invalid(field, "is missing"))
}

/// The longest field name, in bytes; longer paths are not quoted.
const FIELD_BYTES_MAX: usize = 16;

/// The longest part of a parser message that may quote the input, in characters.
const ECHO_MAX: usize = 48;

/// Shortens the input quoted in a parser message, so that a response is not as long as the request.
fn short(said: &str) -> String {
    let (repeated, expected) = said.rfind(", expected").map_or((said, ""), |at| said.split_at(at));
    match repeated.char_indices().nth(ECHO_MAX) {
        None => said.to_owned(),
        Some((end, _)) => format!("{}…{expected}", &repeated[..end]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use http::HeaderValue;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Name<'a> {
        name: &'a str,
    }

    #[test]
    fn json_errors_name_the_field() {
        assert_eq!(object::<Name>(b" {\"name\":\"x\"}\r").unwrap().name, "x");
        for (json, word) in [
            ("", "object"),
            ("[\"x\"]", "object"),
            ("\"x\"", "object"),
            ("{\"name\":1}", "name: invalid type"),
            ("{\"nam\":\"x\"}", "nam: unknown field `nam`"),
            ("{\"\":\"x\"}", "body: is not the expected JSON: unknown field ``"),
            ("{}", "name: missing field `name`"),
            ("{\"name\":\"x\",\"name\":\"x\"}", "name: duplicate field `name`"),
            ("{\"name\":\"x\"}{}", "body: is not the expected JSON: trailing characters"),
            ("{\"name\":", "EOF"),
            ("{\"name\"", "JSON: EOF"),
            ("{\"na", "JSON: EOF"),
            ("{", "JSON: EOF"),
        ] {
            let error = object::<Name>(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains('?'), "{json}: {error}");
        }
    }

    #[test]
    fn json_errors_name_no_type_of_rust() {
        let said = |json: &[u8]| read::<Vec<u64>>(json).unwrap_err().to_string();
        let array = body_of::<HashMap<String, u8>>(&HeaderMap::new(), b"[\"x\"]").unwrap_err();
        assert_eq!(array.detail, "body: must be a JSON object");
        let ends = |json, end: &str| assert!(said(json).ends_with(end), "{}", said(json));
        ends(
            b"[-1]",
            "integer `-1`, expected a whole number in the documented range at line 1 column 3",
        );
        ends(b"{}", "expected an array at line 1 column 0");
    }

    #[test]
    fn json_errors_quote_only_the_beginning_of_the_input() {
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
    fn the_content_type_may_be_absent_but_not_wrong() {
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
