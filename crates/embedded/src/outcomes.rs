//! What writes with an Idempotency-Key came to. They are looked up and kept inside the write's own
//! savepoint; the single writer makes a repetition wait for the first.

use jiff::Timestamp;
use lodge_domain::{
    Attempt, Done, Error,
    links::{Claim, Link, Outcome, Replaced},
    once::KEPT_SECONDS,
};
use rusqlite::{Connection, OptionalExtension};

use crate::failure::Failure;

pub(crate) const RECALL: &str =
    "SELECT fingerprint, outcome FROM outcomes WHERE attempt = ?1 AND at > ?2";

/// Takes the place only of what is older than is kept.
pub(crate) const KEEP: &str =
    "INSERT OR REPLACE INTO outcomes (attempt, fingerprint, at, outcome) VALUES (?1, ?2, ?3, ?4)";

/// How a write's result stands among the outcomes.
pub(crate) struct Form<T> {
    wrap: fn(T) -> Outcome,
    unwrap: fn(Outcome) -> lodge_domain::Result<T>,
}

/// The form of claims.
pub(crate) fn claims() -> Form<Vec<Claim>> {
    Form { wrap: Outcome::Claims, unwrap: Outcome::claims }
}

/// The form of a replacement.
pub(crate) fn replaced() -> Form<Replaced> {
    Form { wrap: Outcome::Replaced, unwrap: Outcome::replaced }
}

fn changed() -> Form<Link> {
    Form { wrap: Outcome::Changed, unwrap: Outcome::changed }
}

/// Runs `write`, or answers with what it came to when this attempt was made before.
pub(crate) fn once<T: Clone>(
    connection: &Connection,
    attempt: Option<&Attempt>,
    form: &Form<T>,
    write: impl FnOnce() -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    let Some(attempt) = attempt else { return Ok(Done::now(write()?)) };
    if let Some(earlier) = recall(connection, attempt)? {
        let outcome = (form.unwrap)(earlier)?;
        return Ok(Done { outcome, replayed: true });
    }
    let outcome = write()?;
    keep(connection, attempt, &(form.wrap)(outcome.clone()))?;
    Ok(Done::now(outcome))
}

/// As [`once`], for a change, of which only one that was done is kept.
pub(crate) fn once_if_done(
    connection: &Connection,
    attempt: Option<&Attempt>,
    write: impl FnOnce() -> Result<Option<Link>, Failure>,
) -> Result<Option<Done<Link>>, Failure> {
    let mut refused = false;
    let done = once(connection, attempt, &changed(), || {
        write()?.ok_or_else(|| {
            refused = true;
            Failure::Refused(Error::Stale)
        })
    });
    if refused { Ok(None) } else { done.map(Some) }
}

/// What an earlier write with this attempt came to.
pub(crate) fn recall(
    connection: &Connection,
    attempt: &Attempt,
) -> Result<Option<Outcome>, Failure> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, [u8; 32]>(0)?, row.get::<_, String>(1)?));
    let found = connection
        .prepare_cached(RECALL)?
        .query_row((attempt.id, kept_since(attempt.at)), read)
        .optional()?;
    match found {
        None => Ok(None),
        Some((fingerprint, _)) if fingerprint != attempt.fingerprint => {
            Err(Error::KeyReused.into())
        }
        Some((_, outcome)) => Ok(Some(serde_json::from_str(&outcome)?)),
    }
}

fn keep(connection: &Connection, attempt: &Attempt, outcome: &Outcome) -> Result<(), Failure> {
    let values = (
        attempt.id,
        attempt.fingerprint,
        attempt.at.as_millisecond(),
        serde_json::to_string(outcome)?,
    );
    connection.prepare_cached(KEEP)?.execute(values)?;
    Ok(())
}

/// From which time on, in milliseconds, outcomes count at `now`.
pub(crate) fn kept_since(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_sub(KEPT_SECONDS * 1000)
}
