//! Helpers for forms.

use lodge_domain::{Random, random::random_id};

/// Makes an unguessable id for one rendering of a form, with which a repeated submission is recognized.
pub(crate) fn id(random: &dyn Random) -> String {
    random_id(random).to_string()
}

/// Returns the trimmed text; `None` if empty.
pub(crate) fn non_empty(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}
