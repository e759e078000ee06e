//! `PUT /?short=S&long=L`, the seeds' interface. Body and Content-Type are ignored.

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
use crate::{error::HttpResult, request::RequestContext, responses};

/// Create a link in one line.
///
/// Body and Content-Type are ignored. `long` may be sent unencoded: one that contains `://` is taken literally, with
/// its escapes. A link created without an API key or a session cannot be changed later; `POST /api/links` without them
/// returns a manage key.
#[utoipa::path(put, path = "/", tag = "links",
    params(("short" = String, Query, description = "The short name", example = "gg"), ("long" = String, Query, description = "The target; without a scheme, https is added", example = "example.org"),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 128 printable characters")),
    responses((status = 201, description = "Created"), (status = 200, description = "The link exists with this target"), (status = 400, description = "Invalid request; `detail` says why"),
        (status = 401, description = "The API key or session is not valid, or an API key or a session is needed"), (status = 409, description = "The short is taken"), (status = 422, description = "The Idempotency-Key was used for another request"), (status = 429, description = "Too many links created; see Retry-After"), (status = 503, description = "Retry later")),
    security((), ("api_key" = []), ("session" = [])))]
pub(crate) async fn put(
    State(app): State<LinksApp>,
    RawQuery(query): RawQuery,
    asked: RequestContext,
) -> HttpResult {
    let query = query.unwrap_or_default();
    let (short, long) = parse(&query)?;
    let caller = asked.caller(&app.site).await?;
    let idempotency = asked.idempotency_key(&caller, "/", &[query.as_bytes()])?;
    app.admit_creations(asked.client, &caller, 1, idempotency.as_ref()).await?;
    let new = NewLink { short: Some(short), ..NewLink::to(long) };
    let done = app
        .links
        .put(new, &caller, &asked.here(), idempotency)
        .await
        .map_err(rename_target_to_long)?;
    Ok(responses::respond(done, |put| {
        // Both bodies have the same length: `ab`, the seed's client, counts another length as a failure.
        let (status, text) = match put {
            Put::Created => (StatusCode::CREATED, "created\n"),
            Put::Already => (StatusCode::OK, "already\n"),
        };
        (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
    }))
}

/// Reads `short` and `long`, each exactly once. An unencoded `long` (one with a literal `:`, `/` or `?`) keeps its own
/// query: all parameters after it, up to a `short`, belong to it. One with a literal `://` also keeps its escapes.
fn parse(query: &str) -> Result<(Short, Target)> {
    let (mut short, mut long) = (None, None::<String>);
    let mut long_is_open = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match (name, &mut long) {
            ("short", _) if short.is_some() => {
                return Err(Error::invalid("short", "must be given once"));
            }
            ("short", _) => (short, long_is_open) = (Some(value), false),
            (_, Some(long)) if long_is_open => {
                long.push('&');
                long.push_str(pair);
            }
            ("long", Some(_)) => return Err(Error::invalid("long", "must be given once")),
            ("long", None) => {
                (long, long_is_open) = (Some(value.to_owned()), value.contains([':', '/', '?']));
            }
            _ => return Err(Error::invalid("query", "must have only short and long")),
        }
    }
    let short =
        short.ok_or_else(|| Error::invalid("short", "is missing; send PUT /?short=…&long=…"))?;
    let long =
        long.ok_or_else(|| Error::invalid("long", "is missing; send PUT /?short=…&long=…"))?;
    let long = if long.contains("://") { long } else { decode("long", &long)? };
    let target = Target::parse(&long).map_err(rename_target_to_long)?;
    Ok((Short::parse(&decode("short", short)?)?, target))
}

/// Renames `target` in an error to `long`, its name in this interface.
fn rename_target_to_long(error: Error) -> Error {
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
    fn a_long_that_is_no_url_is_refused_with_an_example() {
        let why = "long: is not a URL; a URL looks like https://example.org/page";
        assert_eq!(parsed("short=gg&long=not%20a%20url%20at%20all"), why);
        assert_eq!(parsed("short=gg&long=not+a+url+at+all"), why);
    }

    #[test]
    fn ambiguous_or_missing_parameters_are_refused() {
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
