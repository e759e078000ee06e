//! Reading what is sent.

use http::{HeaderMap, header};
use lodge_domain::{Error, Result};
use serde::{Deserialize, Deserializer};

/// Whether a body is of one of these kinds, or nobody said of which it is.
pub(super) fn is_of_kind(headers: &HeaderMap, kinds: &[&'static str]) -> Result<()> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(Error::invalid("Content-Type", format!("must be {}", kinds.join(" or "))))
}

/// Reads a JSON object, borrowing from it. Which field is wrong is only looked up when one is: that reads it
/// again, and costs as much as the rest.
pub(super) fn object<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T> {
    // An array of the fields' values would be taken as well.
    if json.trim_ascii_start().first() != Some(&b'{') {
        return Err(Error::invalid("body", "must be a JSON object"));
    }
    serde_json::from_slice(json).or_else(|_| {
        let mut json = serde_json::Deserializer::from_slice(json);
        let read = serde_path_to_error::deserialize(&mut json).map_err(|error| error.to_string());
        let read =
            read.and_then(|read| json.end().map(|()| read).map_err(|error| error.to_string()));
        read.map_err(|error| {
            Error::invalid("body", format!("is not the JSON that belongs here: {error}"))
        })
    })
}

/// A field that may be left out. `null` is a value, and none that belongs there.
pub(super) fn not_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A field, or a parameter, that has to be there.
pub(super) fn given<T>(field: &'static str, value: Option<T>) -> Result<T> {
    value.ok_or_else(|| Error::invalid(field, "is missing"))
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
        ] {
            let error = object::<Name>(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{json}: {error}");
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
