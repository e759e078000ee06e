//! Stored outcomes of writes with an Idempotency-Key, read and written inside the write's own transaction.

use jiff::Timestamp;
use lodge_domain::{Error, IdempotencyKey, Idempotent, idempotency::OUTCOME_KEPT_SECONDS};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    App, Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    RECALL = same("SELECT fingerprint, outcome FROM outcomes WHERE attempt = ? AND at > ?");
    /// Deletes an expired outcome of the same key.
    DELETE_EXPIRED = same("DELETE FROM outcomes WHERE attempt = ? AND at <= ?");
    KEEP = same("INSERT INTO outcomes (attempt, fingerprint, at, outcome, app) VALUES (?, ?, ?, ?, ?)");
}

/// The conversion between a write's result `T` and its app's stored outcome `O`.
pub struct OutcomeCodec<T, O> {
    /// The app of the outcome.
    pub app: App,
    /// Converts a result to the outcome to store.
    pub wrap: fn(T) -> O,
    /// Restores the result from a stored outcome.
    pub unwrap: fn(&mut dyn Tx, O) -> Result<T, Failure>,
}

/// Runs `write` and stores its outcome, or returns the outcome already stored for this idempotency key.
pub fn idempotent<T: Clone, O: Serialize + DeserializeOwned, E: From<Failure>>(
    tx: &mut dyn Tx,
    idempotency: Option<&IdempotencyKey>,
    form: &OutcomeCodec<T, O>,
    write: impl FnOnce(&mut dyn Tx) -> Result<T, E>,
) -> Result<Idempotent<T>, E> {
    let Some(idempotency) = idempotency else { return Ok(Idempotent::fresh(write(tx)?)) };
    if let Some(earlier) = stored_outcome(tx, idempotency)? {
        let outcome = (form.unwrap)(tx, earlier)?;
        return Ok(Idempotent { outcome, replayed: true });
    }
    let outcome = write(tx)?;
    store_outcome(tx, idempotency, form.app, &(form.wrap)(outcome.clone()))?;
    Ok(Idempotent::fresh(outcome))
}

/// Returns the outcome stored for this idempotency key; [`Error::KeyReused`] if it belongs to another request.
pub fn stored_outcome<O: DeserializeOwned>(
    tx: &mut dyn Tx,
    idempotency: &IdempotencyKey,
) -> Result<Option<O>, Failure> {
    let read = |row: crate::Row<'_>| Ok((row.get::<[u8; 32]>(0)?, row.get::<String>(1)?));
    match tx.one(&RECALL, values![&idempotency.id, valid_since(idempotency.at)], read)? {
        None => Ok(None),
        Some((fingerprint, _)) if fingerprint != idempotency.fingerprint => {
            Err(Error::KeyReused.into())
        }
        Some((_, outcome)) => Ok(Some(serde_json::from_str(&outcome)?)),
    }
}

fn store_outcome(
    tx: &mut dyn Tx,
    idempotency: &IdempotencyKey,
    app: App,
    outcome: &impl Serialize,
) -> Result<(), Failure> {
    let (outcome, app) = (serde_json::to_string(outcome)?, app as i64);
    tx.execute(&DELETE_EXPIRED, values![&idempotency.id, valid_since(idempotency.at)])?;
    let values = values![&idempotency.id, &idempotency.fingerprint, idempotency.at, &outcome, app];
    let kept = tx.insert(&KEEP, values)?;
    // With several writers, another one may have stored an outcome for the key meanwhile; it is found when this
    // transaction runs again.
    kept.map(drop).ok_or_else(|| {
        Failure::Deadlock("a concurrent request has the same Idempotency-Key".into())
    })
}

/// Returns the time, in milliseconds, after which outcomes are still valid at `now`.
pub fn valid_since(now: Timestamp) -> i64 {
    now.as_millisecond().saturating_sub(OUTCOME_KEPT_SECONDS * 1000)
}
