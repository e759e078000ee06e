//! Request ids: in the response, the log lines and the error page.

use std::cell::Cell;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the id, in requests and responses.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// A request id: 16 hexadecimal digits, or the id that a trusted proxy sent.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(HeaderValue);

thread_local! {
    /// The counter behind the ids of this thread. Threads share none, so that redirects on all cores do not contend
    /// for it; from random starts in 64 bits their ids are very likely unique.
    static COUNTER: Cell<u64> = Cell::new(rand::random());
}

impl RequestId {
    /// Makes a new id.
    pub(crate) fn random() -> Self {
        let count = COUNTER.get();
        COUNTER.set(count.wrapping_add(1));
        let number = scatter(count);
        let mut digits = [b'0'; 16];
        for (index, digit) in digits.iter_mut().enumerate() {
            let nibble = (number >> (60 - 4 * index)) & 0xf;
            *digit = b"0123456789abcdef"[usize::try_from(nibble).unwrap_or(0)];
        }
        Self(HeaderValue::from_bytes(&digits).unwrap_or_else(|_| HeaderValue::from_static("0")))
    }

    /// Returns the id from a trusted proxy if it has a plain form, else a new one.
    pub(crate) fn take(headers: &HeaderMap, trusted: bool) -> Self {
        let given = headers.get(HEADER).filter(|value| trusted && is_plain(value.as_bytes()));
        given.map_or_else(Self::random, |value| Self(value.clone()))
    }

    /// Returns the id as a header value.
    pub(crate) fn header_value(&self) -> HeaderValue {
        self.0.clone()
    }

    /// Returns the id as text.
    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl From<RequestId> for HeaderValue {
    fn from(id: RequestId) -> Self {
        id.0
    }
}

impl std::fmt::Display for RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A bijection on 64 bits (the finaliser of `SplitMix64`), so that consecutive ids look unrelated.
fn scatter(counter: u64) -> u64 {
    let mut z = counter.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn is_plain(value: &[u8]) -> bool {
    (1..=64).contains(&value.len())
        && value.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_id_is_kept_only_if_trusted_and_plain() {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_static("abc-1"));
        assert_eq!(RequestId::take(&headers, true).as_str(), "abc-1");
        assert_ne!(RequestId::take(&headers, false).as_str(), "abc-1");
        headers.insert(HEADER, HeaderValue::from_static("a b"));
        assert_eq!(RequestId::take(&headers, true).as_str().len(), 16);
    }
}
