//! What writes with an Idempotency-Key came to. They are looked up and kept inside the write's own
//! savepoint; the single writer makes a repetition wait for the first.

use jiff::Timestamp;
use lodge_domain::{
    Attempt, Done, Error,
    accounts::{self, Account},
    links::{self, Claim, Link, Replaced},
    once::KEPT_SECONDS,
};
use rusqlite::{Connection, OptionalExtension};
use serde::{Serialize, de::DeserializeOwned};

use crate::{accounts::get, failure::Failure, writer::App};

pub(crate) const RECALL: &str =
    "SELECT fingerprint, outcome FROM outcomes WHERE attempt = ?1 AND at > ?2";

/// Takes the place only of what is older than is kept.
pub(crate) const KEEP: &str = "INSERT OR REPLACE INTO outcomes (attempt, fingerprint, at, outcome, app) VALUES (?1, ?2, ?3, ?4, ?5)";

/// How a write's result stands among its app's outcomes `O`.
pub(crate) struct Form<T, O> {
    app: App,
    wrap: fn(T) -> O,
    unwrap: fn(&Connection, O) -> Result<T, Failure>,
}

/// The form of claims.
pub(crate) fn claims() -> Form<Vec<Claim>, links::Outcome> {
    use links::Outcome;
    Form { app: App::Links, wrap: Outcome::Claims, unwrap: |_, kept| Ok(kept.claims()?) }
}

/// The form of a replacement.
pub(crate) fn replaced() -> Form<Replaced, links::Outcome> {
    use links::Outcome;
    Form { app: App::Links, wrap: Outcome::Replaced, unwrap: |_, kept| Ok(kept.replaced()?) }
}

fn changed() -> Form<Link, links::Outcome> {
    use links::Outcome;
    Form { app: App::Links, wrap: Outcome::Changed, unwrap: |_, kept| Ok(kept.changed()?) }
}

/// The form of an account that was made, or whose name was taken.
pub(crate) fn signed_up() -> Form<Option<Account>, accounts::Outcome> {
    use accounts::Outcome::{self, SignedUp, Taken};
    Form {
        app: App::Accounts,
        wrap: |made| made.map_or(Taken, |account| SignedUp(account.id)),
        unwrap: |connection, outcome| match outcome {
            SignedUp(id) => Ok(Some(get(connection, id)?.ok_or(Outcome::DELETED)?)),
            Taken => Ok(None),
        },
    }
}

/// Runs `write`, or answers with what it came to when this attempt was made before.
pub(crate) fn once<T: Clone, O: Serialize + DeserializeOwned>(
    connection: &Connection,
    attempt: Option<&Attempt>,
    form: &Form<T, O>,
    write: impl FnOnce() -> Result<T, Failure>,
) -> Result<Done<T>, Failure> {
    let Some(attempt) = attempt else { return Ok(Done::now(write()?)) };
    if let Some(earlier) = recall(connection, attempt)? {
        let outcome = (form.unwrap)(connection, earlier)?;
        return Ok(Done { outcome, replayed: true });
    }
    let outcome = write()?;
    keep(connection, attempt, form.app, &(form.wrap)(outcome.clone()))?;
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
pub(crate) fn recall<O: DeserializeOwned>(
    connection: &Connection,
    attempt: &Attempt,
) -> Result<Option<O>, Failure> {
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

fn keep(
    connection: &Connection,
    attempt: &Attempt,
    app: App,
    outcome: &impl Serialize,
) -> Result<(), Failure> {
    let values = (
        attempt.id,
        attempt.fingerprint,
        attempt.at.as_millisecond(),
        serde_json::to_string(outcome)?,
        app as i64,
    );
    connection.prepare_cached(KEEP)?.execute(values)?;
    Ok(())
}

/// From which time on, in milliseconds, outcomes count at `now`.
pub(crate) fn kept_since(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_sub(KEPT_SECONDS * 1000)
}
