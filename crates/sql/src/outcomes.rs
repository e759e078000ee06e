//! What writes with an Idempotency-Key came to. They are looked up and kept inside the write's own
//! transaction.

use jiff::Timestamp;
use lodge_domain::{Attempt, Done, Error, once::KEPT_SECONDS};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    App, Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    RECALL = same("SELECT fingerprint, outcome FROM outcomes WHERE attempt = ? AND at > ?");
    /// What is older than is kept makes room.
    MAKE_ROOM = same("DELETE FROM outcomes WHERE attempt = ? AND at <= ?");
    KEEP = same("INSERT INTO outcomes (attempt, fingerprint, at, outcome, app) VALUES (?, ?, ?, ?, ?)");
}

/// How a write's result `T` stands among its app's outcomes `O`.
pub struct Form<T, O> {
    /// Whose outcome it is.
    pub app: App,
    /// What is kept of a result.
    pub wrap: fn(T) -> O,
    /// The result again.
    pub unwrap: fn(&mut dyn Tx, O) -> Result<T, Failure>,
}

/// Runs `write`, or answers with what it came to when this attempt was made before.
pub fn once<T: Clone, O: Serialize + DeserializeOwned, E: From<Failure>>(
    tx: &mut dyn Tx,
    attempt: Option<&Attempt>,
    form: &Form<T, O>,
    write: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
) -> Result<Done<T>, E> {
    let Some(attempt) = attempt else { return Ok(Done::now(write(tx)?)) };
    if let Some(earlier) = recall(tx, attempt)? {
        let outcome = (form.unwrap)(tx, earlier)?;
        return Ok(Done { outcome, replayed: true });
    }
    let outcome = write(tx)?;
    keep(tx, attempt, form.app, &(form.wrap)(outcome.clone()))?;
    Ok(Done::now(outcome))
}

/// What an earlier write with this attempt came to.
pub fn recall<O: DeserializeOwned>(
    tx: &mut dyn Tx,
    attempt: &Attempt,
) -> Result<Option<O>, Failure> {
    let read = |row: crate::Row<'_>| Ok((row.get::<[u8; 32]>(0)?, row.get::<String>(1)?));
    match tx.one(&RECALL, values![&attempt.id, kept_since(attempt.at)], read)? {
        None => Ok(None),
        Some((fingerprint, _)) if fingerprint != attempt.fingerprint => {
            Err(Error::KeyReused.into())
        }
        Some((_, outcome)) => Ok(Some(serde_json::from_str(&outcome)?)),
    }
}

fn keep(
    tx: &mut dyn Tx,
    attempt: &Attempt,
    app: App,
    outcome: &impl Serialize,
) -> Result<(), Failure> {
    let (outcome, app) = (serde_json::to_string(outcome)?, app as i64);
    tx.execute(&MAKE_ROOM, values![&attempt.id, kept_since(attempt.at)])?;
    let values = values![&attempt.id, &attempt.fingerprint, attempt.at, &outcome, app];
    let kept = tx.insert(&KEEP, values)?;
    // Where there are several writers, one with the same attempt may have come between: its outcome
    // counts, and is found when this transaction runs again.
    kept.map(drop).ok_or_else(|| Failure::Deadlock("the attempt was made at the same time".into()))
}

/// From which time on, in milliseconds, outcomes count at `now`.
pub fn kept_since(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_sub(KEPT_SECONDS * 1000)
}
