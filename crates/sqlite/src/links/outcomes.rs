//! Stored outcomes of writes to links.

use lodge_domain::{
    Attempt, Done, Error,
    links::{Claim, Link, Outcome, Replaced},
};
use lodge_sql::{
    App,
    outcomes::{Form, once},
};
use rusqlite::Connection;

use crate::{failure::Failure, tx::SqliteTx};

/// The outcome of claims.
pub(super) static CLAIMS: Form<Vec<Claim>, Outcome> =
    Form { app: App::Links, wrap: Outcome::Claims, unwrap: |_, kept| Ok(kept.claims()?) };

/// The outcome of a replacement.
pub(super) static REPLACED: Form<Replaced, Outcome> =
    Form { app: App::Links, wrap: Outcome::Replaced, unwrap: |_, kept| Ok(kept.replaced()?) };

/// The outcome of a change.
static CHANGED: Form<Link, Outcome> =
    Form { app: App::Links, wrap: Outcome::Changed, unwrap: |_, kept| Ok(kept.changed()?) };

/// Runs a change once per idempotency key; stores the outcome only if the change was applied.
pub(super) fn once_if_done(
    connection: &Connection,
    attempt: Option<&Attempt>,
    write: impl FnOnce() -> Result<Option<Link>, Failure>,
) -> Result<Option<Done<Link>>, Failure> {
    let mut refused = false;
    let done = once(&mut SqliteTx(connection), attempt, &CHANGED, |_| {
        write()?.ok_or_else(|| {
            refused = true;
            Failure::Refused(Error::Stale)
        })
    });
    if refused { Ok(None) } else { done.map(Some) }
}
