//! What came of the parts of a run.

use std::time::Duration;

use super::tally::Events;
use super::verify::Verification;
use crate::engine::record::Record;
use crate::engine::run::Measured;
use crate::report::figures::Pacing;

/// What was done at one pace: a row of the report.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) connections: u32,
    pub(crate) record: Record,
    pub(crate) elapsed: Duration,
    /// Its record is in another stage's, too.
    pub(crate) again: bool,
}

/// All that a command came to.
#[derive(Debug, Default)]
pub(crate) struct RidesRun {
    /// In words: what was sent, and how.
    pub(crate) workload: String,
    pub(crate) stages: Vec<Stage>,
    /// In an open loop.
    pub(crate) pacing: Option<Pacing>,
    /// Where rides were recorded.
    pub(crate) events: Option<Events>,
    /// Where they were asked for: answers that there is nothing.
    pub(crate) absent: Option<u64>,
    pub(crate) cpu: Option<Duration>,
    pub(crate) interrupted: bool,
    pub(crate) verification: Option<Verification>,
}

impl RidesRun {
    pub(crate) fn new(workload: String) -> Self {
        Self { workload, cpu: Some(Duration::ZERO), ..Self::default() }
    }

    /// Adds what was measured at one pace, a row for each kind of turns.
    pub(crate) fn add(
        &mut self,
        names: &[&'static str],
        connections: u32,
        is_open: bool,
        measured: Measured,
    ) {
        self.pacing = is_open.then(|| Pacing::of(&measured)).or(self.pacing);
        self.cpu = self.cpu.zip(measured.cpu).map(|(sum, more)| sum + more);
        self.interrupted |= measured.interrupted;
        let elapsed = measured.elapsed;
        let stage = |(&name, record)| Stage { name, connections, record, elapsed, again: false };
        self.stages.extend(names.iter().zip(measured.records).map(stage));
    }

    /// Adds a row of all rows so far, which took `elapsed`.
    pub(crate) fn add_all(&mut self, connections: u32, elapsed: Duration) {
        let mut record = Record::new();
        for stage in &self.stages {
            record.merge(&stage.record);
        }
        self.stages.push(Stage { name: "all", connections, record, elapsed, again: true });
    }
}
