//! The figures of both binaries.

use crate::bench::figures::{Runs, Served};

/// Maximum CPU time of a request and minimum throughput, relative to the old binary.
const CPU_MAX: f64 = 1.03;
const THROUGHPUT_MIN: f64 = 0.93;

/// The runs of both binaries, in pairs.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) old: Served,
    pub(super) new: Served,
}

impl Figures {
    /// Prints a row for each figure; returns whether both are within their limits.
    pub(super) fn print(&self, workload: &str) -> bool {
        let Self { old, new } = self;
        let is_less = |ratio| ratio <= CPU_MAX;
        let cpu = format!("{workload} | µs CPU each");
        let cpu = row(&cpu, &old.cpu_us, &new.cpu_us, &format!("≤ {CPU_MAX}"), is_less);
        let is_more = |ratio| ratio >= THROUGHPUT_MIN;
        let rate = format!("{workload} | a second");
        let limit = format!("≥ {THROUGHPUT_MIN}");
        let rate = row(&rate, &old.per_second, &new.per_second, &limit, is_more);
        cpu && rate
    }
}

/// Prints a row; returns whether the median ratio of new to old over the pairs is within the limit.
fn row(name: &str, old: &Runs, new: &Runs, limit: &str, is_within: fn(f64) -> bool) -> bool {
    let ratio = new.ratios(old).median();
    let is_within = is_within(ratio);
    let (old, new) = (old.spread(), new.spread());
    let verdict = if is_within { "within" } else { "NOT WITHIN" };
    println!("| {name} | {old} | {new} | {ratio:.3} | {limit} | {verdict} |");
    is_within
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(new: [(f64, f64); 3]) -> Figures {
        let mut figures = Figures::default();
        for (per_second, cpu_us) in new {
            figures.old.add(1.0, 100.0, 10.0);
            figures.new.add(1.0, per_second, cpu_us);
        }
        figures
    }

    #[test]
    fn the_median_pair_decides_about_each_figure() {
        assert!(figures([(93.0, 10.3), (100.0, 10.0), (1.0, 99.0)]).print("within"));
        assert!(!figures([(92.0, 10.0), (92.0, 10.0), (100.0, 10.0)]).print("slow"));
        assert!(!figures([(100.0, 10.4), (100.0, 10.4), (100.0, 10.0)]).print("busy"));
    }
}
