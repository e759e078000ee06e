//! The raw file: one line per request, written by a thread of its own.
//!
//! The channel is bounded: when the disk cannot follow, the workers wait, and in an open loop the
//! report shows that as pacing lag.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};

use super::plan::Kind;
use crate::engine::outcome::ErrorKind;

/// Rows handed over at once.
const BATCH_ROWS: usize = 1024;
/// Batches on their way to the file.
const BATCHES_MAX: usize = 64;

const HEADER: &str = "start\tlate\tctime\tdtime\tttime\twait\tkind\tresult\n";

/// One request. Times in µs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The intended send time, unix µs.
    pub(crate) start_us: u64,
    /// From then until the client began (dialling or sending).
    pub(crate) late_us: u64,
    pub(crate) connect_us: u64,
    /// From the intended send time to the whole answer.
    pub(crate) total_us: u64,
    /// From sending to the first byte of the answer.
    pub(crate) wait_us: u64,
    pub(crate) kind: Kind,
    pub(crate) result: Result<(), ErrorKind>,
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

    /// The workers' end.
    pub(crate) fn rows(&self) -> RawRows {
        RawRows { batch: Vec::new(), sender: self.sender.clone() }
    }

    /// Waits until everything is in the file; all workers' ends must be gone.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.sender);
        self.thread
            .join()
            .map_err(|_| anyhow!("the raw file's writer panicked"))?
            .context("cannot write the raw file")
    }
}

/// Collects rows and hands them over in batches.
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
        // Fails only when the writer has given up; `finish` reports why.
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
    let process_us = row.total_us.saturating_sub(row.late_us).saturating_sub(row.connect_us);
    write!(out, "{}.{:06}", row.start_us / 1_000_000, row.start_us % 1_000_000)?;
    for us in [row.late_us, row.connect_us, process_us, row.total_us, row.wait_us] {
        write!(out, "\t{}.{:03}", us / 1000, us % 1000)?;
    }
    let kind = match row.kind {
        Kind::Get => "get",
        Kind::Put => "put",
    };
    match row.result {
        Ok(()) => writeln!(out, "\t{kind}\tok"),
        Err(error) => writeln!(out, "\t{kind}\t{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_adds_up() {
        let row = Row {
            start_us: 1_700_000_000_000_042,
            late_us: 100,
            connect_us: 200,
            total_us: 1500,
            wait_us: 1100,
            kind: Kind::Put,
            result: Err(ErrorKind::Status(503)),
        };
        let mut line = Vec::new();
        write_row(&mut line, &row).unwrap();
        assert_eq!(
            String::from_utf8(line).unwrap(),
            "1700000000.000042\t0.100\t0.200\t1.200\t1.500\t1.100\tput\tstatus 503\n"
        );
    }
}
