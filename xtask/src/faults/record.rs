//! What came of each row.

use serde::{Deserialize, Serialize};

use super::workload::Tally;

/// What came of one row with one seed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) commit: String,
    pub(crate) fault: String,
    pub(crate) seed: u64,
    pub(crate) victims: Vec<String>,
    pub(crate) took_s: u64,
    /// The promises that were not kept.
    pub(crate) broken: Vec<String>,
    pub(crate) counted: Counted,
}

impl Record {
    /// Whether this is a later run of the same row with the same seed.
    pub(crate) fn replaces(&self, kept: &Self) -> bool {
        self.fault == kept.fault && self.seed == kept.seed
    }
}

/// What was counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Counted {
    pub(crate) lost: u64,
    /// Links that are there more than once.
    pub(crate) listed_twice: u64,
    /// Redirects that the web processes counted as perhaps out of date.
    pub(crate) stale: u64,
    /// How soon the sentinels named another master.
    pub(crate) replaced_ms: Option<u64>,
    /// How long after the fault's end all was well; nothing if it never was.
    pub(crate) recovered_ms: Option<u64>,
    pub(crate) tally: Tally,
}

impl Counted {
    /// Links that are there twice, or were answered for twice.
    pub(crate) fn duplicated(&self) -> u64 {
        self.listed_twice.max(self.tally.duplicated)
    }
}
