//! The figures that the systems before Lodge recorded, and what each of them measured.

use serde::Serialize;

/// A row each; an empty cell was not recorded. Times in ms.
const TABLE: &str = include_str!("published.tsv");

/// One recorded run or claim.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct SeedRun {
    pub(crate) system: &'static str,
    /// `get` or `put`; of rides, the question, or `post`.
    pub(crate) kind: &'static str,
    pub(crate) how: &'static str,
    /// Requests a second, as stated.
    pub(crate) rate: &'static str,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) sd_ms: Option<f64>,
    pub(crate) median_ms: Option<f64>,
    pub(crate) p90_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) measured: &'static str,
}

/// What was recorded of an app: `links`, `rides` or `board`.
pub(crate) fn published(app: &str) -> Vec<SeedRun> {
    let rows = TABLE.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    rows.filter_map(|row| match row[..] {
        [of, system, kind, how, rate, mean, sd, median, p90, p99, max, measured] if of == app => {
            let [mean_ms, sd_ms, median_ms, p90_ms, p99_ms, max_ms] =
                [mean, sd, median, p90, p99, max].map(|ms| ms.parse().ok());
            Some(SeedRun {
                system,
                kind,
                how,
                rate,
                mean_ms,
                sd_ms,
                median_ms,
                p90_ms,
                p99_ms,
                max_ms,
                measured,
            })
        }
        _ => None,
    })
    .collect()
}

impl SeedRun {
    /// Mean, deviation, median, p90, p99, maximum.
    pub(crate) fn times_ms(&self) -> [(&'static str, Option<f64>); 6] {
        [
            ("mean", self.mean_ms),
            ("sd", self.sd_ms),
            ("median", self.median_ms),
            ("p90", self.p90_ms),
            ("p99", self.p99_ms),
            ("max", self.max_ms),
        ]
    }

    /// The same as text.
    pub(crate) fn cells(&self) -> [String; 6] {
        self.times_ms().map(|(_, ms)| ms.map_or_else(|| "–".to_owned(), |ms| ms.to_string()))
    }

    /// On one line.
    pub(crate) fn line(&self) -> String {
        let stated = |before: &str, text: &str, after: &str| match text {
            "" => String::new(),
            text => format!(" {before}{text}{after}"),
        };
        let times = self
            .times_ms()
            .map(|(name, ms)| ms.map_or_else(String::new, |ms| format!(" {name} {ms} ms")));
        format!(
            "{}, {}, {}:{}{}{}",
            self.system,
            self.kind,
            self.how,
            stated("", self.rate, "/s"),
            times.concat(),
            stated("(", self.measured.trim_end_matches('.'), ")")
        )
    }
}
