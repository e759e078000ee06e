//! What forms have in common.

use jiff::Timestamp;
use lodge_domain::{Attempt, Random, Result};

const ID_LENGTH: usize = 32;

/// A name for one filling-in of a form, that nobody else can guess.
pub(crate) fn id(random: &dyn Random) -> String {
    let mut bytes = [0; ID_LENGTH / 2];
    random.fill(&mut bytes);
    format!("{:032x}", u128::from_be_bytes(bytes))
}

/// The attempt that a submission is, of the filling-in of this name. Whoever changes what they typed and
/// submits again wants something else, so all that is said is part of its identity, but for passwords.
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

/// What was typed, if anything was.
pub(crate) fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use lodge_domain::OsRandom;

    use super::*;

    #[test]
    fn a_forms_name_is_bound_to_what_was_typed() {
        let id = id(&OsRandom);
        let attempt =
            |id: &str, body: &[u8]| attempt(id, "/links", body, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(attempt(&id, b"a"), attempt(&id, b"a"));
        assert_ne!(attempt(&id, b"a").map(|a| a.id), attempt(&id, b"b").map(|b| b.id));
        assert_eq!(attempt("short", b"a"), None);
    }
}
