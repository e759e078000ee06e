//! What the runs of both binaries came to.

use crate::bench::figures::{median, spread};

/// The most CPU time that a request may take, and the least throughput, as shares of the old binary's.
const CPU_MAX: f64 = 1.03;
const THROUGHPUT_MIN: f64 = 0.93;

/// One run of one binary.
pub(super) struct Sample {
    /// Answers a second.
    pub(super) per_second: f64,
    /// CPU time of the server for an answer, in µs.
    pub(super) cpu_us: f64,
}

/// The runs of both, in pairs.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) old: Vec<Sample>,
    pub(super) new: Vec<Sample>,
}

impl Figures {
    /// Prints a row for each figure; returns whether both are within their limits.
    pub(super) fn print(&self, workload: &str) -> bool {
        let (cpu_us, per_second) = (|run: &Sample| run.cpu_us, |run: &Sample| run.per_second);
        let (cpu, throughput) = (self.ratio(cpu_us), self.ratio(per_second));
        let cpu_is_within = cpu <= CPU_MAX;
        let throughput_is_within = throughput >= THROUGHPUT_MIN;
        self.row(workload, "µs CPU each", cpu_us, &format!("≤ {CPU_MAX}"), cpu_is_within);
        let limit = format!("≥ {THROUGHPUT_MIN}");
        self.row(workload, "a second", per_second, &limit, throughput_is_within);
        cpu_is_within && throughput_is_within
    }

    fn row(
        &self,
        workload: &str,
        name: &str,
        figure: impl Fn(&Sample) -> f64,
        limit: &str,
        is_within: bool,
    ) {
        let [old, new] =
            [&self.old, &self.new].map(|runs| runs.iter().map(&figure).collect::<Vec<_>>());
        let (old, new, ratio) = (spread(&old), spread(&new), self.ratio(figure));
        let verdict = if is_within { "within" } else { "NOT WITHIN" };
        println!("| {workload} | {name} | {old} | {new} | {ratio:.3} | {limit} | {verdict} |");
    }

    /// The median over the pairs of the new figure to the old one.
    fn ratio(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        let pairs = self.old.iter().zip(&self.new);
        median(&pairs.map(|(old, new)| figure(new) / figure(old)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(new: [(f64, f64); 3]) -> Figures {
        let sample = |(per_second, cpu_us)| Sample { per_second, cpu_us };
        Figures { old: [(100.0, 10.0); 3].map(sample).into(), new: new.map(sample).into() }
    }

    #[test]
    fn the_median_pair_decides_about_each_figure() {
        assert!(figures([(93.0, 10.3), (100.0, 10.0), (1.0, 99.0)]).print("within"));
        assert!(!figures([(92.0, 10.0), (92.0, 10.0), (100.0, 10.0)]).print("slow"));
        assert!(!figures([(100.0, 10.4), (100.0, 10.4), (100.0, 10.0)]).print("busy"));
    }
}
