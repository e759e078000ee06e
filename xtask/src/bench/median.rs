//! The figure that is given of some runs.

/// The middle one, or the mean of the two middle ones.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The middle of some runs, and the least and the most of them.
pub(crate) fn spread(values: &[f64]) -> String {
    let (least, most) = (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    format!("{:.2} ({least:.2} to {most:.2})", median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_by_their_middle_and_their_ends() {
        assert_eq!(spread(&[3.0, 1.0, 20.0]), "3.00 (1.00 to 20.00)");
    }
}
