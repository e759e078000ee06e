//! Values as text for pages.

use std::borrow::Borrow;

use jiff::{Timestamp, tz::TimeZone};

/// `31 January 2026, 07:05 UTC`.
pub(crate) fn moment(at: &Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%-d %B %Y, %H:%M UTC").to_string()
}

/// `31 Jan, 07:05`, in UTC.
pub(crate) fn minute(at: &Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%-d %b, %H:%M").to_string()
}

/// `31 Jan 2026`, of the UTC day.
pub(crate) fn day(at: &Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%-d %b %Y").to_string()
}

/// `1,234,567`.
pub(crate) fn thousands(number: impl Borrow<u64>) -> String {
    let digits = number.borrow().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 click`, `2,000 clicks`.
pub(crate) fn clicks(number: impl Borrow<u64>) -> String {
    counted(*number.borrow(), "click", "clicks")
}

/// `1 ride`, `2,000 rides`.
pub(crate) fn rides(number: impl Borrow<u64>) -> String {
    counted(*number.borrow(), "ride", "rides")
}

fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// Makes a sentence of a page: a capital at the start, a full stop at the end, and names without backticks.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars().filter(|letter| *letter != '`');
    let mut sentence: String =
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// Truncates to `most` characters, followed by `…`.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A URL without its scheme.
pub(crate) fn bare_url(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// Returns the letter shown in place of a picture.
pub(crate) fn initial(nickname: &str) -> String {
    nickname.chars().next().map_or_else(|| "?".to_owned(), |first| first.to_uppercase().collect())
}

/// Percent-encodes a part of a path or a query.
pub(crate) fn escaped(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let at: Timestamp = "2026-01-31T07:05:09Z".parse().unwrap();
        assert_eq!(
            (moment(&at).as_str(), day(&at).as_str()),
            ("31 January 2026, 07:05 UTC", "31 Jan 2026")
        );
        assert_eq!(minute(&at), "31 Jan, 07:05");
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((clicks(1), clicks(2000)), ("1 click".to_owned(), "2,000 clicks".to_owned()));
        assert_eq!((rides(0), rides(1)), ("0 rides".to_owned(), "1 ride".to_owned()));
        assert_eq!(
            (sentence("there is no field `x`"), sentence("Really?"), sentence("")),
            ("There is no field x.".to_owned(), "Really?".to_owned(), ".".to_owned())
        );
        assert_eq!(
            (shortened("äöü", 3), shortened("äöüx", 3)),
            ("äöü".to_owned(), "äöü…".to_owned())
        );
        assert_eq!(bare_url("https://a.b/c"), "a.b/c");
    }
}
