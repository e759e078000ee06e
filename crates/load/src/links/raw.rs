//! The raw file: one line per request, written by its own thread.
//!
//! The channel is bounded: when the disk is too slow, the workers wait, and in an open loop the
//! report shows that as pacing lag.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::plan::Kind;
use crate::engine::record::Sample;

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;
/// Capacity of the channel to the writer, in batches.
const BATCHES_MAX: usize = 64;

const HEADER: &str = "start\tlate\tctime\tdtime\tttime\twait\tkind\tresult\n";

/// One request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The intended send time, since the beginning of 1970.
    pub(crate) start: Duration,
    /// From `start` until the client began (dialling or sending).
    pub(crate) late: Duration,
    pub(crate) kind: Kind,
    pub(crate) sample: Sample,
}

/// The thread that owns the file.
#[derive(Debug)]
pub(crate) struct RawWriter {
    sender: SyncSender<Vec<Row>>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl RawWriter {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let (sender, receiver) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new()
            .name("load-raw".to_owned())
            .spawn(move || write_all(file, &receiver))?;
        Ok(Self { sender, thread })
    }

    /// Returns a worker's end of the channel.
    pub(crate) fn rows(&self) -> RawRows {
        RawRows { batch: Vec::new(), sender: self.sender.clone() }
    }

    /// Waits until all rows are written; every worker's end must have been dropped.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.sender);
        self.thread
            .join()
            .map_err(|_| anyhow!("the writer of the raw file panicked"))?
            .context("cannot write the raw file")
    }
}

/// Collects rows and sends them in batches.
#[derive(Debug, Clone)]
pub(crate) struct RawRows {
    batch: Vec<Row>,
    sender: SyncSender<Vec<Row>>,
}

impl RawRows {
    pub(crate) fn push(&mut self, row: Row) {
        self.batch.push(row);
        if self.batch.len() >= BATCH_ROWS {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_ROWS));
        // Fails only if the writer has ended; `finish` reports why.
        drop(self.sender.send(batch));
    }
}

impl Drop for RawRows {
    fn drop(&mut self) {
        self.flush();
    }
}

fn write_all(file: File, batches: &Receiver<Vec<Row>>) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(256 * 1024, file);
    out.write_all(HEADER.as_bytes())?;
    for batch in batches {
        for row in batch {
            write_row(&mut out, &row)?;
        }
    }
    out.flush()
}

fn write_row(out: &mut impl Write, row: &Row) -> std::io::Result<()> {
    let Sample { total, cost, result, .. } = row.sample;
    write!(out, "{}.{:06}", row.start.as_secs(), row.start.subsec_micros())?;
    let connect = cost.connect.unwrap_or_default();
    let [late_us, connect_us, total_us, wait_us] =
        [row.late, connect, total, cost.wait.unwrap_or_default()].map(|time| time.as_micros());
    let process_us = total_us.saturating_sub(late_us).saturating_sub(connect_us);
    for us in [late_us, connect_us, process_us, total_us, wait_us] {
        write!(out, "\t{}.{:03}", us / 1000, us % 1000)?;
    }
    let kind = match row.kind {
        Kind::Get => "get",
        Kind::Put => "put",
    };
    match result {
        Ok(()) => writeln!(out, "\t{kind}\tok"),
        Err(error) => writeln!(out, "\t{kind}\t{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::outcome::ErrorKind;
    use crate::engine::wire::Cost;

    #[test]
    fn the_times_of_a_row_add_up() {
        let us = Duration::from_micros;
        let cost = Cost { wait: Some(us(1100)), connect: Some(us(200)), ..Cost::default() };
        let result = Err(ErrorKind::Status(503));
        let sample = Sample { done_at: Duration::ZERO, total: us(1500), cost, result };
        let start = us(1_700_000_000_000_042);
        let row = Row { start, late: us(100), kind: Kind::Put, sample };
        let mut line = Vec::new();
        write_row(&mut line, &row).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "1700000000.000042\t0.100\t0.200\t1.200\t1.500\t1.100\tput\tstatus 503\n"
        );
    }
}
