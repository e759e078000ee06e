//! The results of rows.

use serde::{Deserialize, Serialize};

use super::workload::Tally;

/// The result of one row with one seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) commit: String,
    pub(crate) fault: String,
    pub(crate) seed: u64,
    pub(crate) victims: Vec<String>,
    pub(crate) took_s: u64,
    /// The broken promises, in words.
    pub(crate) broken: Vec<String>,
    pub(crate) counted: Counted,
}

impl Record {
    /// Whether this is a later run of the same row with the same seed.
    pub(crate) fn replaces(&self, kept: &Self) -> bool {
        self.fault == kept.fault && self.seed == kept.seed
    }
}

/// Maximum time until a Redis master is replaced.
pub(crate) const REPLACED_MS: u64 = 3_000;

/// The figures of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) lost: u64,
    /// Links that are listed more than once, or names that several accounts have.
    pub(crate) listed_twice: u64,
    /// Redirects that the web processes counted as possibly out of date.
    pub(crate) stale: u64,
    /// Time until the sentinels named another master.
    pub(crate) replaced_ms: Option<u64>,
    /// Time from the end of the fault to recovery; `None` without recovery.
    pub(crate) recovered_ms: Option<u64>,
    pub(crate) tally: Tally,
}

impl Counted {
    /// Links that are listed twice, or returned for a repetition in place of the first.
    pub(crate) fn duplicated(&self) -> u64 {
        self.listed_twice.max(self.tally.duplicated)
    }
}
