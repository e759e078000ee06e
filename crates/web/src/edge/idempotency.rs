//! Parses `Idempotency-Key`. The store saves the key together with the write that it guards.

use http::{HeaderMap, HeaderName, HeaderValue};
use lodge_domain::{Error, Result, idempotency::is_unguessable};

/// The request header (`draft-ietf-httpapi-idempotency-key-header`).
pub(crate) const HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The header of a replayed response.
pub(crate) const REPLAYED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("idempotency-replayed"), HeaderValue::from_static("true"));

/// Returns the raw key, if any; the caller of this function checks length and characters.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<&str>> {
    let mut keys = headers.get_all(HEADER).iter();
    let Some(key) = keys.next() else { return Ok(None) };
    if keys.next().is_some() {
        return Err(Error::invalid("Idempotency-Key", "must be sent only once"));
    }
    key.to_str().map(Some).map_err(|_| {
        Error::invalid("Idempotency-Key", "must be 1 to 128 printable ASCII characters")
    })
}

/// Checks the key, if any, of a request whose response has a secret that its caller's old credential must not get
/// again: only the client that has made the key may know it.
pub(crate) fn check_unguessable(headers: &HeaderMap) -> Result<()> {
    match key(headers)? {
        Some(key) if !is_unguessable(key) => Err(Error::invalid(
            "Idempotency-Key",
            "must be a UUID of version 4 or 7 in a request for a new manage key",
        )),
        _ => Ok(()),
    }
}
