//! Helpers for forms.

use jiff::Timestamp;
use lodge_domain::{IdempotencyKey, Random, Result};

const ID_LENGTH: usize = 32;

/// Makes an unpredictable id for one rendering of a form.
pub(crate) fn id(random: &dyn Random) -> String {
    let mut bytes = [0; ID_LENGTH / 2];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// Returns the idempotency key of a submission of the form `id`; `None` if the id is malformed. Changed text is a new
/// request, so the key includes all fields except passwords.
pub(crate) fn idempotency_key(
    id: &str,
    route: &str,
    said: &[u8],
    at: Timestamp,
) -> Result<Option<IdempotencyKey>> {
    if id.len() != ID_LENGTH || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let caller = format!("form:{id}");
    let scope = [&caller, "POST", route, &String::from_utf8_lossy(said)];
    IdempotencyKey::new(&scope, id, said, at).map(Some)
}

/// Returns the trimmed text; `None` if empty.
pub(crate) fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use lodge_domain::OsRandom;

    use super::*;

    #[test]
    fn the_idempotency_key_of_a_form_depends_on_the_typed_text() {
        let id = id(&OsRandom);
        let key = |id: &str, body: &[u8]| {
            idempotency_key(id, "/links", body, Timestamp::UNIX_EPOCH).unwrap()
        };
        assert_eq!(key(&id, b"a"), key(&id, b"a"));
        assert_ne!(key(&id, b"a").map(|a| a.id), key(&id, b"b").map(|b| b.id));
        assert_eq!(key("short", b"a"), None);
    }
}
