//! Helpers for forms.

use jiff::Timestamp;
use lodge_domain::{Attempt, Random, Result};

const ID_LENGTH: usize = 32;

/// Makes an unpredictable id for one rendering of a form.
pub(crate) fn id(random: &dyn Random) -> String {
    let mut bytes = [0; ID_LENGTH / 2];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// Returns the idempotency key of a submission of the form `id`; `None` if the id is malformed. Changed text is a new
/// request, so the key includes all fields except passwords.
pub(crate) fn attempt(
    id: &str,
    route: &str,
    said: &[u8],
    at: Timestamp,
) -> Result<Option<Attempt>> {
    if id.len() != ID_LENGTH || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let caller = format!("form:{id}");
    let scope = [&caller, "POST", route, &String::from_utf8_lossy(said)];
    Attempt::new(&scope, id, said, at).map(Some)
}

/// Returns the trimmed text; `None` if empty.
pub(crate) fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use lodge_domain::OsRandom;

    use super::*;

    #[test]
    fn the_idempotency_key_of_a_form_depends_on_the_typed_text() {
        let id = id(&OsRandom);
        let attempt =
            |id: &str, body: &[u8]| attempt(id, "/links", body, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(attempt(&id, b"a"), attempt(&id, b"a"));
        assert_ne!(attempt(&id, b"a").map(|a| a.id), attempt(&id, b"b").map(|b| b.id));
        assert_eq!(attempt("short", b"a"), None);
    }
}
