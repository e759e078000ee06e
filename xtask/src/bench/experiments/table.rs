//! The figures as Markdown tables, the seed's below ours.

use std::{fmt::Write as _, time::Duration};

use lodge_load::Spread;
use serde::{Deserialize, Serialize};

use super::{
    options::EXPIRY_S,
    points::{Point, RequestAccounts},
    processes::Run,
};
use crate::bench::prometheus::Histogram;

/// The source of a column.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A figure of the load generator's report.
    Report(&'static str),
    /// The p99 of a section, in ms.
    P99(&'static str),
    /// The number of samples of a section.
    Count(&'static str),
    /// Misses divided by lookups.
    MissRate,
    /// The expected misses: unique users × time / expiry.
    Expected,
}

const HIT: &str = "lodge_accounts_cache_hit_seconds";
const MISS: &str = "lodge_accounts_cache_miss_seconds";

const COLUMNS: [(&str, Source); 23] = [
    ("requests/s", Source::Report("/total/all/rate_per_s")),
    ("errors", Source::Report("/total/all/errors")),
    ("client p50", Source::Report("/total/all/latency_ms/median")),
    ("client p99", Source::Report("/total/all/latency_ms/p99")),
    ("get connection", Source::P99("lodge_wire_get_connection_seconds")),
    ("send", Source::P99("lodge_wire_send_seconds")),
    ("round trip of the tiers", Source::P99("lodge_wire_round_trip_seconds")),
    ("free connection", Source::P99("lodge_wire_free_connection_seconds")),
    ("store read", Source::P99("lodge_accounts_store_read_seconds")),
    ("database connection", Source::P99("lodge_mariadb_wait_seconds")),
    ("database queries", Source::P99("lodge_mariadb_transaction_seconds")),
    ("Redis get", Source::P99("lodge_accounts_redis_get_seconds")),
    ("Redis set", Source::P99("lodge_accounts_redis_set_seconds")),
    ("store write", Source::P99("lodge_accounts_store_write_seconds")),
    ("token update", Source::P99("lodge_accounts_token_update_seconds")),
    ("password hash", Source::P99("lodge_passwords_work_seconds")),
    ("cache write", Source::P99("lodge_accounts_cache_write_seconds")),
    ("cache hit", Source::P99(HIT)),
    ("cache miss", Source::P99(MISS)),
    ("hits", Source::Count(HIT)),
    ("misses", Source::Count(MISS)),
    ("miss rate", Source::MissRate),
    ("users × time / expiry", Source::Expected),
];

/// One run's figures, by column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Figures(Vec<Option<f64>>);

impl Figures {
    pub(super) fn new(run: &Run, point: &Point, duration: Duration) -> Self {
        let count = |name: &str| run.sections.get(name).map(Histogram::count);
        let figure = |source| match source {
            Source::Report(pointer) => run.report.number(pointer).ok(),
            Source::P99(name) => Some(run.sections.get(name)?.quantile_s(0.99)? * 1e3),
            Source::Count(name) => Some(count(name).unwrap_or_default()),
            Source::MissRate => {
                let misses = count(MISS)?;
                Some(misses / (misses + count(HIT).unwrap_or_default()))
            }
            Source::Expected => expected(point, duration),
        };
        Self(COLUMNS.iter().map(|(_, source)| figure(*source)).collect())
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are some thousand users")]
fn expected(point: &Point, duration: Duration) -> Option<f64> {
    match point.people {
        RequestAccounts::First(users) if point.cache_s > 0 => {
            Some(users as f64 * duration.as_secs_f64() / EXPIRY_S as f64)
        }
        _ => None,
    }
}

/// A table, row by row.
pub(super) struct Table {
    title: &'static str,
    rows: String,
}

impl Table {
    pub(super) fn new(title: &'static str) -> Self {
        Self { title, rows: String::new() }
    }

    /// Adds our row, and the seed's if it has one.
    pub(super) fn add(&mut self, point: &Point, runs: &[Figures]) {
        let ours = (0..COLUMNS.len()).map(|column| {
            let values: Vec<f64> = runs.iter().filter_map(|run| *run.0.get(column)?).collect();
            cell(&values)
        });
        self.row(&point.label, &ours.collect::<Vec<_>>());
        if !point.seed.is_empty() {
            let of = |title: &str| point.seed.iter().find(|(known, _)| *known == title);
            let seeds = COLUMNS.iter().map(|(title, _)| of(title).map_or("–", |(_, text)| text));
            self.row("the seed", &seeds.map(str::to_owned).collect::<Vec<_>>());
        }
    }

    fn row(&mut self, label: &str, cells: &[String]) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.rows, "| {label} | {} |", cells.join(" | "));
    }

    pub(super) fn markdown(&self) -> String {
        let titles = COLUMNS.map(|(title, _)| title).join(" | ");
        let rule = "--- | ".repeat(COLUMNS.len() + 1);
        format!("### {}\n\n| | {titles} |\n| {}\n{}", self.title, rule.trim_end(), self.rows)
    }
}

/// The mean of the runs, with the deviation for several; a dash for none.
fn cell(values: &[f64]) -> String {
    let Spread { mean, sd } = Spread::of(values);
    match values {
        [] => "–".to_owned(),
        [_] => number(mean, mean),
        _ => format!("{} ± {}", number(mean, mean), number(sd, mean)),
    }
}

/// Formats with the decimals that suit the magnitude of `like`.
fn number(value: f64, like: f64) -> String {
    match like.abs() {
        like if like >= 100.0 => format!("{value:.0}"),
        like if like >= 0.1 => format!("{value:.2}"),
        like if like > 0.0 => format!("{value:.4}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{options::Part, points},
        *,
    };

    #[test]
    fn every_figure_of_the_seed_has_a_column() {
        let parts = [Part::Workers50, Part::Workers1000, Part::Cached];
        for point in parts.into_iter().flat_map(|part| points::of(part, 1)) {
            for (title, _) in point.seed {
                assert!(COLUMNS.iter().any(|(known, _)| *known == title), "{title}");
            }
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let mut table = Table::new("x");
        let mut figures = Figures(vec![None; COLUMNS.len()]);
        figures.0[3] = Some(1.5);
        let other = Figures(vec![None; COLUMNS.len()]);
        table.add(&points::of(Part::Cached, 1)[0], &[figures, other]);
        let text = table.markdown();
        let cells = |line: &str| line.matches('|').count();
        let widths: Vec<usize> = text.lines().skip(2).map(cells).collect();
        assert_eq!(widths, [COLUMNS.len() + 2; 4]);
        assert!(text.contains("| 1000 a second | – | – | – | 1.50 |"), "{text}");
    }

    #[test]
    fn several_runs_have_a_deviation() {
        assert_eq!(cell(&[]), "–");
        assert_eq!(cell(&[0.0]), "0");
        assert_eq!(cell(&[9_000.0, 9_100.0]), "9050 ± 71");
        assert_eq!(cell(&[0.004, 0.006]), "0.0050 ± 0.0014");
    }
}
