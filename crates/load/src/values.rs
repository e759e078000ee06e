//! Parsers for option values that several commands share.

use std::ops::RangeInclusive;
use std::time::Duration;

use jiff::SignedDuration;

/// The longest duration that an option accepts.
const DURATION_MAX: Duration = Duration::from_hours(7 * 24);

/// Parses a duration such as 500ms, 10s, 2m or 1h: more than 0 and at most 7 days.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let time: SignedDuration = text
        .parse()
        .map_err(|_| format!("`{text}` is not a duration like 500ms, 10s, 2m or 1h"))?;
    let is_fine = |time: &Duration| !time.is_zero() && *time <= DURATION_MAX;
    let time = Duration::try_from(time).ok().filter(is_fine);
    time.ok_or_else(|| format!("`{text}` must be more than 0 and at most 7 days"))
}

/// The accepted rates, in requests a second.
pub(crate) const RATES: RangeInclusive<f64> = 0.001..=10_000_000.0;

/// Returns a parser for a number in `range`.
pub(crate) fn number(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            format!("must be from {} to {}, not `{text}`", range.start(), range.end())
        })
    }
}

/// Returns a parser for 1 to `most` bytes that all satisfy `fine`; `what` describes them in the error.
pub(crate) fn word(
    most: usize,
    what: &'static str,
    fine: fn(u8) -> bool,
) -> impl Fn(&str) -> Result<String, String> + Clone + Send + Sync {
    move |text| {
        if (1..=most).contains(&text.len()) && text.bytes().all(fine) {
            Ok(text.to_owned())
        } else {
            Err(format!("must be 1 to {most} {what}, not `{text}`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_are_bounded() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("0.5m"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_mins(2)));
        for bad in ["10", "0s", "-1s", "s", "1d", "999h", "nanms", "infs"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_and_shares_are_bounded() {
        let (rate, share) = (number(RATES), number(0.0..=1.0));
        assert_eq!(rate("20000"), Ok(20_000.0));
        assert_eq!(share("0.1"), Ok(0.1));
        for bad in ["0", "nan", "1e9"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
        assert!(share("1.1").is_err());
        assert!(share("nan").is_err());
    }
}
