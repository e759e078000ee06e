//! Figures of several runs, and tables of them.

use std::fmt;

/// One figure of several runs: its display is the median, its debug output has all of them.
#[derive(Clone, Default)]
pub(crate) struct Runs(pub(crate) Vec<f64>);

impl Runs {
    /// The median.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => sorted[n / 2],
            n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
        }
    }

    /// The minimum and the maximum.
    pub(crate) fn range(&self) -> (f64, f64) {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        (least, self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Formats the median, minimum and maximum.
    pub(crate) fn spread(&self) -> String {
        let (least, most) = self.range();
        format!("{self:.2} ({least:.2} to {most:.2})")
    }

    /// The ratio of each run to the run of `other` at the same index.
    pub(crate) fn ratios(&self, other: &Self) -> Self {
        self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect()
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.median().fmt(f)
    }
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromIterator<f64> for Runs {
    fn from_iter<T: IntoIterator<Item = f64>>(figures: T) -> Self {
        Self(figures.into_iter().collect())
    }
}

/// Transposes runs with the same figures to the runs of each figure.
pub(crate) fn columns<const N: usize>(runs: &[[f64; N]]) -> [Runs; N] {
    std::array::from_fn(|column| runs.iter().map(|run| run[column]).collect())
}

/// The runs of one server under one load.
#[derive(Default)]
pub(crate) struct Served {
    /// Answers a second.
    pub(crate) per_second: Runs,
    /// CPU time of the server per answer, in µs.
    pub(crate) cpu_us: Runs,
}

impl Served {
    /// Adds a run with `answers`, for which the server used `cpu_us` in total.
    pub(crate) fn add(&mut self, answers: f64, per_second: f64, cpu_us: f64) {
        self.per_second.0.push(per_second);
        self.cpu_us.0.push(cpu_us / answers);
    }
}

/// Prints the header of a table.
pub(crate) fn table<const N: usize>(columns: [&str; N]) {
    println!("\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(N));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_has_median_minimum_and_maximum() {
        assert_eq!(Runs(vec![3.0, 1.0, 20.0]).spread(), "3.00 (1.00 to 20.00)");
    }
}
