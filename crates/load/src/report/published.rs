//! Figures that others have published for the same kinds of request, with their sources and what each measured.

use serde::{Deserialize, Serialize};

/// One row per run; an empty cell was not recorded.
const TABLE: &str = include_str!("published.tsv");

/// One recorded run or claim.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub(crate) struct PublishedRun {
    /// `links`, `rides` or `board`.
    #[serde(skip_serializing)]
    app: String,
    pub(crate) system: String,
    /// The publication, and what the system consists of.
    pub(crate) source: String,
    /// `get` or `put`; for rides the kind of read, or `post`; for the board `post` or `page`.
    pub(crate) kind: String,
    pub(crate) how: String,
    /// Requests a second, as stated.
    pub(crate) rate: String,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) sd_ms: Option<f64>,
    pub(crate) median_ms: Option<f64>,
    pub(crate) p90_ms: Option<f64>,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
    pub(crate) measured: String,
}

/// Returns the published figures of an app.
pub(crate) fn published(app: &str) -> Vec<PublishedRun> {
    let mut lines = csv::ReaderBuilder::new();
    let table = lines.delimiter(b'\t').quoting(false).from_reader(TABLE.as_bytes());
    let rows = table.into_deserialize::<PublishedRun>().filter_map(Result::ok);
    rows.filter(|row| row.app == app).collect()
}

impl PublishedRun {
    /// Returns mean, deviation, median, p90, p99 and maximum with their names.
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

    /// Formats the times; a dash for a figure that was not recorded.
    pub(crate) fn cells(&self) -> [String; 6] {
        self.times_ms().map(|(_, ms)| ms.map_or_else(|| "–".to_owned(), |ms| ms.to_string()))
    }

    /// Formats the run on one line, without the system.
    pub(crate) fn line(&self) -> String {
        let stated = |before: &str, text: &str, after: &str| match text {
            "" => String::new(),
            text => format!(" {before}{text}{after}"),
        };
        // A few state no figure, but say so.
        let unit = if self.rate.starts_with(|c: char| c.is_ascii_digit()) { "/s" } else { "" };
        let times = self
            .times_ms()
            .map(|(name, ms)| ms.map_or_else(String::new, |ms| format!(" {name} {ms} ms")));
        format!(
            "{}, {}:{}{}{}",
            self.kind,
            self.how,
            stated("", &self.rate, unit),
            times.concat(),
            stated("(", self.measured.trim_end_matches('.'), ")")
        )
    }
}
