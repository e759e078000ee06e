//! `PUT /?short=S&long=L`, as both seeds have it. Only the query counts; body and Content-Type do not.

use axum::{
    extract::{RawQuery, State},
    response::IntoResponse,
};
use http::{StatusCode, header};
use lodge_domain::{
    Error, Result,
    links::{NewLink, Put, Short, Target},
};
use percent_encoding::percent_decode_str;

use super::app::LinksApp;
use crate::{answers, error::HttpResult, request::Asked};

/// Put a short.
///
/// Only the query counts: body and Content-Type are ignored, and `long` need not be encoded: one in which
/// `://` stands is taken as it is, escapes and all. Without an API key nobody can change the link later;
/// `POST /api/links` gives a manage key.
#[utoipa::path(put, path = "/", tag = "follow",
    params(("short" = String, Query, description = "The path segment", example = "gg"), ("long" = String, Query, description = "Where it leads; without a scheme it gets https", example = "example.org"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 printable characters")),
    responses((status = 201, description = "Created"), (status = 200, description = "It leads there already"), (status = 400, description = "Something cannot be; the answer says what"),
        (status = 409, description = "The short is taken"), (status = 429, description = "Too many; see Retry-After"), (status = 503, description = "Try again")),
    security((), ("api_key" = []), ("session" = [])))]
pub(crate) async fn put(
    State(app): State<LinksApp>,
    RawQuery(query): RawQuery,
    asked: Asked,
) -> HttpResult {
    let query = query.unwrap_or_default();
    let (short, long) = parse(&query)?;
    let caller = asked.caller(&app.site).await?;
    let attempt = asked.attempt(&caller, "/", &[query.as_bytes()])?;
    app.admit_creations(asked.client, &caller, 1, attempt.as_ref()).await?;
    let new = NewLink { short: Some(short), ..NewLink::to(long) };
    let done = app.links.put(new, &caller, &asked.here(), attempt).await.map_err(called_long)?;
    Ok(answers::told(done, |put| {
        // Of one length: `ab`, the seed's own client, takes an answer of another length for a failure.
        let (status, text) = match put {
            Put::Created => (StatusCode::CREATED, "created\n"),
            Put::Already => (StatusCode::OK, "already\n"),
        };
        (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
    }))
}

/// Reads `short` and `long`, each exactly once. A `long` that was not encoded (a `:`, `/` or `?`
/// stands in it as it is) keeps the `&` of its own query: whatever follows it up to a `short` is its. One
/// in which `://` stands as it is keeps its own escapes, too.
fn parse(query: &str) -> Result<(Short, Target)> {
    let (mut short, mut long) = (None, None::<String>);
    let mut long_is_open = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, &mut long) {
            ("short", _) if short.is_some() => {
                return Err(Error::invalid("short", "was given twice"));
            }
            ("short", _) => (short, long_is_open) = (Some(value), false),
            (_, Some(long)) if long_is_open => {
                long.push('&');
                long.push_str(pair);
            }
            ("long", Some(_)) => return Err(Error::invalid("long", "was given twice")),
            ("long", None) => {
                (long, long_is_open) = (Some(value.to_owned()), value.contains([':', '/', '?']));
            }
            _ => return Err(Error::invalid("query", "may hold only short and long")),
        }
    }
    let short =
        short.ok_or_else(|| Error::invalid("short", "is missing; say PUT /?short=…&long=…"))?;
    let long =
        long.ok_or_else(|| Error::invalid("long", "is missing; say PUT /?short=…&long=…"))?;
    let long = if long.contains("://") { long } else { decode("long", &long)? };
    let target = Target::parse(&long).map_err(called_long)?;
    Ok((Short::parse(&decode("short", short)?)?, target))
}

/// Names the target as it is called here.
fn called_long(error: Error) -> Error {
    match error {
        Error::Invalid { field, reason } if field == "target" => Error::invalid("long", reason),
        other => other,
    }
}

fn decode(field: &'static str, value: &str) -> Result<String> {
    let decoded = percent_decode_str(value).decode_utf8();
    decoded.map(String::from).map_err(|_| Error::invalid(field, "is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> String {
        parse(query)
            .map_or_else(|error| error.to_string(), |(short, long)| format!("{short} {long}"))
    }

    #[test]
    fn the_seeds_queries_are_read() {
        assert_eq!(parsed("short=gg&long=google.com"), "gg https://google.com/");
        assert_eq!(
            parsed("short=arnold&long=https://www.cs.toronto.edu/~arnold/"),
            "arnold https://www.cs.toronto.edu/~arnold/"
        );
        assert_eq!(parsed("short=asdf&long=asdf"), "asdf https://asdf/");
        assert_eq!(
            parsed("long=https%3A%2F%2Fa.b%2F%3Fx%3D1%26y%3D2&short=gg"),
            "gg https://a.b/?x=1&y=2"
        );
    }

    #[test]
    fn an_unencoded_long_keeps_its_own_escapes() {
        assert_eq!(
            parsed("short=gg&long=https://a.b/?u=https%3A%2F%2Fc.d%2F%3Fx%3D1%26y&q=a+b%2Bc"),
            "gg https://a.b/?u=https%3A%2F%2Fc.d%2F%3Fx%3D1%26y&q=a+b%2Bc"
        );
        assert_eq!(parsed("short=gg&long=a.b/?q=%26"), "gg https://a.b/?q=&");
    }

    #[test]
    fn an_unencoded_long_keeps_its_own_query() {
        assert_eq!(
            parsed("short=gg&long=https://a.b/?x=1&y=2&long=3"),
            "gg https://a.b/?x=1&y=2&long=3"
        );
        assert_eq!(parsed("long=https://a.b/?x=1&y=2&short=gg"), "gg https://a.b/?x=1&y=2");
    }

    #[test]
    fn what_is_ambiguous_or_missing_is_refused() {
        for query in [
            "",
            "short=gg",
            "long=a.b",
            "short=a&short=b&long=a.b",
            "short=a&long=a.b&long=c.d",
            "short=a&long=a.b&x=1",
            "short=%ff&long=a.b",
            "short=a&long=%ff",
        ] {
            assert!(parse(query).is_err(), "{query}");
        }
    }
}
