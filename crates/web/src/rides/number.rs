//! Numbers in paths, queries and JSON.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Stands for text that is not a whole number. It is out of every range, so that the lookup's error names the
/// valid numbers.
const INVALID: u64 = u64::MAX;

/// Parses a number that consists only of digits.
pub(super) fn digits(text: &str) -> u64 {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().unwrap_or(INVALID)
}

/// Returns the numbers of a path that alternates words and numbers. A percent-encoded segment is not a number.
pub(super) fn in_path<const N: usize>(path: &str) -> [u64; N] {
    let mut segments = path.split('/').skip(2).step_by(2);
    std::array::from_fn(|_| segments.next().map_or(INVALID, digits))
}

/// A whole number in JSON; any other value is read as [`INVALID`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self(digits(raw.get())))
    }
}

/// The number of a season in JSON: a string or a whole number; any other value is read as [`INVALID`].
#[derive(Debug, Clone, Copy)]
pub(super) struct SeasonNumber(pub(super) u64);

impl<'de> Deserialize<'de> for SeasonNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Ok(Self(digits(quoted.unwrap_or(text))))
    }
}

/// Text borrowed from the input, unless it contains escapes.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_consists_only_of_digits() {
        assert_eq!(
            ["0", "1", "2025", "18446744073709551614"].map(digits),
            [0, 1, 2025, u64::MAX - 1]
        );
        for text in ["", "+1", "-1", " 1", "1 ", "0x1", "1.0", "1e3", "%31", "١", "1_0"] {
            assert_eq!(digits(text), INVALID, "{text}");
        }
        assert_eq!(digits("99999999999999999999999"), INVALID);
    }

    #[test]
    fn the_numbers_of_a_path_follow_its_words() {
        assert_eq!(in_path("/skiers/1/seasons/2025/days/3/skiers/4"), [1, 2025, 3, 4]);
        assert_eq!(in_path("/skiers/7/vertical"), [7]);
        assert_eq!(in_path("/resorts/x/seasons"), [INVALID]);
    }

    /// Returns a number read from JSON; `None` if it is no number at all, or invalid.
    fn read<'a, T: Deserialize<'a>>(json: &'a str, number: impl Fn(T) -> u64) -> Option<u64> {
        serde_json::from_str(json).ok().map(number).filter(|number| *number != INVALID)
    }

    #[test]
    fn in_json_only_a_whole_number_is_a_number() {
        for json in [
            "1.0",
            "1e3",
            "-1",
            "-0",
            "\"1\"",
            "true",
            "[1]",
            "{\"a\":[{}]}",
            "1e999",
            "null",
            "18446744073709551616",
        ] {
            assert_eq!(read(json, |number: Number| number.0), None, "{json}");
        }
        assert_eq!(read("40", |number: Number| number.0), Some(40));
    }

    #[test]
    fn in_json_a_season_is_a_whole_number_or_a_string_of_one() {
        for json in
            ["2025.0", "-1", "\"-1\"", "\" 1\"", "\"\"", "\"\\u0031\"", "true", "[1]", "null"]
        {
            assert_eq!(read(json, |season: SeasonNumber| season.0), None, "{json}");
        }
        for json in ["2025", "\"2025\""] {
            assert_eq!(read(json, |season: SeasonNumber| season.0), Some(2025), "{json}");
        }
    }
}
