//! `cargo xtask bench experiments`: the experiments that a seed recorded, and one with realistic traffic, on
//! two tiers of one binary.

mod options;
mod points;
mod processes;
mod records;
mod stores;
mod table;

use std::fs;

use anyhow::{Context, Result};
use clap::ValueEnum;

pub(crate) use self::options::ExperimentOptions;
use self::{
    options::Part, points::Point, processes::Bench, records::Records, stores::Stores, table::Table,
};
use super::lodge;

/// Runs the experiments and prints their tables.
pub(crate) fn run(options: &ExperimentOptions) -> Result<()> {
    let lodge = if let Some(lodge) = &options.lodge {
        lodge.clone()
    } else {
        lodge::build()?;
        lodge::binary()
    };
    let records = Records::new(options)?;
    let stores = Stores::open(options, &lodge)?;
    let bench = Bench::new(options, lodge, &stores)?;
    let mut tables: Vec<Table> = Vec::new();
    for part in Part::value_variants() {
        if !options.only.is_empty() && !options.only.contains(part) {
            continue;
        }
        tables.push(Table::new(part.title()));
        for point in points::of(*part, options.users) {
            let runs = runs(&bench, &records, &point, options)?;
            if let Some(table) = tables.last_mut() {
                table.add(&point, &runs);
            }
            save(options, &tables)?;
        }
    }
    print!("{}", text(options, &tables));
    stores.close()
}

fn runs(
    bench: &Bench<'_>,
    records: &Records<'_>,
    point: &Point,
    options: &ExperimentOptions,
) -> Result<Vec<table::Figures>> {
    let mut runs = Vec::new();
    for number in 1..=options.repeat {
        eprintln!("{}: run {number} of {}", point.label, options.repeat);
        let figures = records.of(point, number, || {
            let run = bench.run(point, number)?;
            Ok(table::Figures::new(&run, point, options.duration))
        });
        runs.push(figures.with_context(|| point.label.clone())?);
    }
    Ok(runs)
}

fn save(options: &ExperimentOptions, tables: &[Table]) -> Result<()> {
    let Some(file) = &options.markdown else { return Ok(()) };
    fs::write(file, text(options, tables))
        .with_context(|| format!("{} cannot be written", file.display()))
}

fn text(options: &ExperimentOptions, tables: &[Table]) -> String {
    let ExperimentOptions { users, duration, repeat, sign_ins, .. } = options;
    let mut text = format!(
        "{users} accounts; open loop; runs of {} s, {repeat} of each, mean ± deviation; {sign_ins} sign-ins a second beside the reads. \
         Times are p99 in ms; those of sections are read from the servers' histograms, and interpolated between the bounds of these. \
         The load generator, both tiers and the store share this machine. A dash: not measured, or not used.\n",
        duration.as_secs_f64()
    );
    for table in tables {
        text.push('\n');
        text.push_str(&table.markdown());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{
        env,
        path::PathBuf,
        sync::atomic::{AtomicU16, Ordering},
        time::Duration,
    };

    use super::*;
    use crate::{
        bench::{
            lodge::{Lodge, Scratch},
            seeded::Store,
        },
        process, test_binaries,
    };

    /// The binary that `cargo xtask test` has built, or one that is built now if this package is tested alone.
    fn built() -> PathBuf {
        env::var_os(test_binaries::LODGE).map_or_else(
            || {
                process::run("cargo", &["build", "--package", "lodge"], &[]).unwrap();
                process::root().join("target/debug/lodge")
            },
            PathBuf::from,
        )
    }

    /// Small runs of the rows with realistic traffic, on a folder of 300 accounts.
    pub(super) fn realistic(folder: &Scratch) -> ExperimentOptions {
        static PORTS: AtomicU16 = AtomicU16::new(0);
        let lodge = built();
        Lodge::of(&lodge, folder.path("")).seed(300, 20).unwrap();
        // Below the ephemeral ports, and different for concurrent test runs.
        let port = u16::try_from(20_000 + std::process::id() % 10_000).unwrap();
        let port = port + 4 * PORTS.fetch_add(1, Ordering::Relaxed);
        ExperimentOptions {
            lodge: Some(lodge),
            store: Store::Sqlite,
            data: Some(folder.path("data")),
            tokens: Some(folder.path("tokens")),
            users: 300,
            sessions: 20,
            duration: Duration::from_millis(500),
            repeat: 1,
            sign_ins: 2,
            only: vec![Part::Realistic],
            resume: false,
            markdown: Some(folder.path("tables.md")),
            port,
        }
    }

    #[test]
    fn the_experiments_start_both_tiers_and_report_cache_hits() {
        let folder = Scratch::new().unwrap();
        run(&realistic(&folder)).unwrap();
        let table = fs::read_to_string(folder.path("tables.md")).unwrap();
        let figure = |label: &str, title: &str| {
            let titles = table.lines().find(|line| line.starts_with("| | ")).unwrap();
            let column = titles.split(" | ").position(|known| known == title).unwrap();
            let row = table.lines().find(|line| line.starts_with(&format!("| {label} |"))).unwrap();
            row.split(" | ").nth(column).unwrap().parse::<f64>().ok()
        };
        assert!(figure("60 s of cache", "hits").unwrap() > 0.0, "{table}");
        assert_eq!(figure("no cache", "hits"), Some(0.0), "{table}");
        for section in [
            "get connection",
            "send",
            "round trip of the tiers",
            "free connection",
            "store read",
            "store write",
            "token update",
            "password hash",
            "cache write",
            "cache hit",
            "cache miss",
        ] {
            assert!(figure("60 s of cache", section).is_some(), "{section}: {table}");
        }
    }
}
