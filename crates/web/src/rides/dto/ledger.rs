//! What came of all events.

use lodge_domain::rides::{ForEver, Ledger, Progress};
use serde::Serialize;
use utoipa::ToSchema;

/// What came of all events.
#[derive(Serialize, ToSchema)]
#[schema(as = Ledger)]
pub(in crate::rides) struct LedgerJson {
    /// Of those that this process was sent since it started.
    since_start: ProgressJson,
    /// Of all since there is the store.
    for_ever: ForEverJson,
}

/// What this process was sent since it started.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerSinceStart)]
pub(in crate::rides) struct ProgressJson {
    /// Stored, duplicates and in flight together.
    accepted: u64,
    stored: u64,
    /// Sent again, and the same as before.
    duplicates: u64,
    /// Accepted, and on their way to the store; none where nothing is accepted before it is stored.
    in_flight: u64,
    /// For what they said, or with 503.
    refused: u64,
    /// Neither accepted nor refused yet.
    undecided: u64,
}

/// All since there is the store.
#[derive(Serialize, ToSchema)]
#[schema(as = LedgerForEver)]
pub(in crate::rides) struct ForEverJson {
    /// Stored and duplicates together.
    accepted: u64,
    stored: u64,
    /// Sent again, and the same as before.
    duplicates: u64,
    /// Those that never reached the store are noted there a little later.
    refused: u64,
}

impl From<Ledger> for LedgerJson {
    fn from(Ledger { since_start, for_ever }: Ledger) -> Self {
        let (in_flight, accepted) = (since_start.in_flight(), for_ever.accepted());
        let ForEver { stored, duplicates, refused } = for_ever;
        let for_ever = ForEverJson { accepted, stored, duplicates, refused };
        let Progress { accepted, stored, duplicates, refused, undecided } = since_start;
        let since_start =
            ProgressJson { accepted, stored, duplicates, in_flight, refused, undecided };
        Self { since_start, for_ever }
    }
}
