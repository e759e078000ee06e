//! Stored outcomes of writes to links.

use lodge_domain::{
    Error, IdempotencyKey, Idempotent,
    links::{Claim, Link, Replaced, StoredLinkOutcome},
};
use lodge_sql::{
    App,
    outcomes::{OutcomeCodec, idempotent},
};
use rusqlite::Connection;

use crate::{failure::Failure, tx::SqliteTx};

/// The outcome of claims.
pub(super) static CLAIMS: OutcomeCodec<Vec<Claim>, StoredLinkOutcome> = OutcomeCodec {
    app: App::Links,
    wrap: StoredLinkOutcome::Claims,
    unwrap: |_, kept| Ok(kept.claims()?),
};

/// The outcome of a replacement.
pub(super) static REPLACED: OutcomeCodec<Replaced, StoredLinkOutcome> = OutcomeCodec {
    app: App::Links,
    wrap: StoredLinkOutcome::Replaced,
    unwrap: |_, kept| Ok(kept.replaced()?),
};

/// The outcome of a change.
static CHANGED: OutcomeCodec<Link, StoredLinkOutcome> = OutcomeCodec {
    app: App::Links,
    wrap: StoredLinkOutcome::Changed,
    unwrap: |_, kept| Ok(kept.changed()?),
};

/// Runs a change once per idempotency key; stores the outcome only if the change was applied.
pub(super) fn idempotent_if_done(
    connection: &Connection,
    idempotency: Option<&IdempotencyKey>,
    write: impl FnOnce() -> Result<Option<Link>, Failure>,
) -> Result<Option<Idempotent<Link>>, Failure> {
    let mut refused = false;
    let done = idempotent(&mut SqliteTx(connection), idempotency, &CHANGED, |_| {
        write()?.ok_or_else(|| {
            refused = true;
            Failure::Refused(Error::Stale)
        })
    });
    if refused { Ok(None) } else { done.map(Some) }
}
