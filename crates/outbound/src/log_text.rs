//! Makes texts from other servers safe to log.

use std::error::Error;

/// The longest text, in characters.
const CHARS_MAX: usize = 200;

/// Cuts a text to 200 characters, with control characters replaced by spaces.
pub(crate) fn cut(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(CHARS_MAX).map(plain).collect()
}

/// Joins an error with its causes, each cut by [`cut`].
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = cut(&error.to_string());
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&cut(&source.to_string()));
        next = source.source();
    }
    text
}
