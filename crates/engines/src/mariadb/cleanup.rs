//! Removes expired rows in bounded steps.

use jiff::Timestamp;
use lodge_sql::{Failure, Statement, Tx, Value, accounts, outcomes};

use super::{commits, failures};

/// Stored outcomes, and counters of wrong passwords, that one call removes.
const ROWS_A_CALL: i64 = 1_000;

const OUTCOMES: Statement =
    Statement::mariadb("DELETE FROM outcomes WHERE at <= ? ORDER BY at LIMIT ?");

/// Removes a bounded number of expired rows. Returns whether more may be left.
pub(super) fn remove_expired(tx: &mut dyn Tx, now: Timestamp) -> Result<bool, Failure> {
    let until = Value::Int(outcomes::valid_since(now));
    let most = Value::Int(ROWS_A_CALL);
    let outcomes = tx.execute(&OUTCOMES, &[until, most])?;
    let over = Value::Int(failures::window_before(now));
    let counters = tx.execute(&failures::REMOVE_OLD, &[over, most])?;
    tx.execute(&commits::REMOVE_OLD, &[])?;
    let (_, more) = accounts::remove_expired(tx, now)?;
    Ok(more || [outcomes, counters].contains(&ROWS_A_CALL.unsigned_abs()))
}
