//! What is to change, as JSON merge patches say it (RFC 7396): absent stays, null goes, a value takes its
//! place.

use serde::{Deserialize, Deserializer};

/// Reads a field that is there, so that null is told from absent; for `deserialize_with` beside `default`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}
