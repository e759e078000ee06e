//! The table in `docs/failure-modes.md`.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};

use super::{
    record::Record,
    rows::{ROWS, Row},
    workload::{EDIT, KNOWN, MAKE, NEW, REPEAT},
};

const BEGIN: &str = "<!-- written by cargo xtask faults -->";
const END: &str = "<!-- end of what is written by cargo xtask faults -->";

const HEAD: &str = "\
| fault | PUTs, edits, repeated POSTs acknowledged | unknown | lost | duplicated | false 404s | \
redirects | failed: known links, new ones | possibly out of date | longest without a redirect of known links, of new ones, without a write | \
recovered after | seeds, commit |\n\
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

/// Replaces the table between its two markers.
pub(crate) fn write(file: &Path, records: &[Record]) -> Result<()> {
    let text = fs::read_to_string(file)?;
    let (before, rest) =
        text.split_once(BEGIN).context("the file lacks the marker at the start of the table")?;
    let (_, after) =
        rest.split_once(END).context("the file lacks the marker at the end of the table")?;
    let lines: String = ROWS.iter().filter_map(|row| line(row, records)).collect();
    Ok(fs::write(file, format!("{before}{BEGIN}\n\n{HEAD}{lines}\n{END}{after}"))?)
}

/// A row's line: sums of counts and maxima of times, over the seeds that ran on the commit of the row's
/// last run.
fn line(row: &Row, records: &[Record]) -> Option<String> {
    let commit = &records.iter().rfind(|record| record.fault == row.name)?.commit;
    let of_row = |record: &&Record| record.fault == row.name && record.commit == *commit;
    let records: Vec<&Record> = records.iter().filter(of_row).collect();
    let sum =
        |count: &dyn Fn(&Record) -> u64| records.iter().map(|record| count(record)).sum::<u64>();
    let worst =
        |time: &dyn Fn(&Record) -> u64| seconds(records.iter().map(|r| time(r)).max().unwrap_or(0));
    let good = |work: &'static str| sum(&move |record| record.counted.tally.good(work));
    let unknown = |work: &'static str| {
        sum(&move |record| record.counted.tally.unknown(work).map(|(_, count)| count).sum())
    };
    let mut line = format!("| {}", row.title);
    let mut cell = |text: String| {
        let _ = write!(line, " | {text}");
    };
    cell(format!("{}, {}, {}", good(MAKE), good(EDIT), good(REPEAT)));
    cell((unknown(MAKE) + unknown(EDIT) + unknown(REPEAT)).to_string());
    cell(sum(&|record| record.counted.lost).to_string());
    cell(sum(&|record| record.counted.duplicated()).to_string());
    cell(sum(&|record| record.counted.tally.false_404s).to_string());
    cell((good(KNOWN) + good(NEW)).to_string());
    cell(format!("{}, {}", unknown(KNOWN), unknown(NEW)));
    cell(sum(&|record| record.counted.stale).to_string());
    let known = worst(&|record| record.counted.tally.known_gap_ms);
    let new = worst(&|record| record.counted.tally.new_gap_ms);
    cell(format!("{known}, {new}, {}", worst(&|record| record.counted.tally.write_gap_ms)));
    let is_well = records.iter().all(|record| record.counted.recovered_ms.is_some());
    let recovered = worst(&|record| record.counted.recovered_ms.unwrap_or_default());
    cell(if is_well { recovered } else { "never".to_owned() });
    cell(format!("{}, {commit}", records.len()));
    Some(line + " |\n")
}

/// Formats milliseconds as tenths of a second, rounded up.
fn seconds(ms: u64) -> String {
    let tenths = ms.div_ceil(100);
    format!("{}.{} s", tenths / 10, tenths % 10)
}
