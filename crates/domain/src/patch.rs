//! Fields of a JSON merge patch (RFC 7396): absent leaves the value, null removes it, any other value replaces it.

use serde::{Deserialize, Deserializer};

/// Deserializes a field that is present, to tell null from absent; for `deserialize_with` beside `default`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    field: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(field).map(Some)
}
