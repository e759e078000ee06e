//! Figures of several runs, and tables of them.

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

/// The least and the most.
pub(crate) fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The middle of some runs, and the least and the most of them.
pub(crate) fn spread(values: &[f64]) -> String {
    let (least, most) = range(values);
    format!("{:.2} ({least:.2} to {most:.2})", median(values))
}

/// The runs of each figure, where each run has the same figures.
pub(crate) fn columns<const N: usize>(runs: &[[f64; N]]) -> [Vec<f64>; N] {
    std::array::from_fn(|column| runs.iter().map(|run| run[column]).collect())
}

/// Prints the head of a table.
pub(crate) fn table<const N: usize>(columns: [&str; N]) {
    println!("\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(N));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_by_their_middle_and_their_ends() {
        assert_eq!(spread(&[3.0, 1.0, 20.0]), "3.00 (1.00 to 20.00)");
    }
}
