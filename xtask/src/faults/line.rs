//! A line of a table, from the records of its row.

use super::{
    record::{Counted, Record},
    row::Row,
    workload::{RequestKind, Tally},
};

/// The columns at the end of every table.
pub(crate) const COMMON: [&str; 2] = ["recovered after", "seeds, commit"];

/// A row with its records, of the seeds that ran on the commit of its last run: counts are sums, and times maxima.
pub(crate) struct Line<'a> {
    pub(crate) row: &'a Row,
    records: Vec<&'a Record>,
}

impl<'a> Line<'a> {
    /// Returns the line of a row, if it has run.
    pub(crate) fn of(row: &'a Row, records: &'a [Record]) -> Option<Self> {
        let commit = &records.iter().rfind(|record| record.fault == row.name)?.commit;
        let of_row = |record: &&Record| record.fault == row.name && record.commit == *commit;
        Some(Self { row, records: records.iter().filter(of_row).collect() })
    }

    /// Adds a count of all seeds.
    pub(crate) fn sum(&self, count: impl Fn(&Counted) -> u64) -> u64 {
        self.records.iter().map(|record| count(&record.counted)).sum()
    }

    /// Returns the longest time of all seeds.
    pub(crate) fn longest(&self, time: impl Fn(&Tally) -> u64) -> String {
        let times = self.records.iter().map(|record| time(&record.counted.tally));
        seconds(times.max().unwrap_or(0))
    }

    /// Returns the number of requests of a kind with the expected answer.
    pub(crate) fn good(&self, work: RequestKind) -> u64 {
        self.sum(|counted| counted.tally.good(work))
    }

    /// Returns the number of requests of a kind with an unknown outcome.
    pub(crate) fn unknown(&self, work: RequestKind) -> u64 {
        self.sum(|counted| counted.tally.unknown(work).map(|(_, count)| count).sum())
    }

    /// Returns the cells of the columns that every table has at its end.
    pub(crate) fn common_cells(&self) -> Vec<String> {
        let times = self.records.iter().map(|record| record.counted.recovered_ms);
        let recovered = times.collect::<Option<Vec<u64>>>();
        let recovered = recovered.map(|times| seconds(times.into_iter().max().unwrap_or(0)));
        let commit = self.records.first().map_or("", |record| &record.commit);
        vec![
            recovered.unwrap_or_else(|| "never".to_owned()),
            format!("{}, {commit}", self.records.len()),
        ]
    }
}

/// Formats milliseconds as tenths of a second, rounded up.
fn seconds(ms: u64) -> String {
    let tenths = ms.div_ceil(100);
    format!("{}.{} s", tenths / 10, tenths % 10)
}
