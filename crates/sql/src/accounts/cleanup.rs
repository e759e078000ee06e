//! Removes expired rows of the account tables in bounded steps.

use jiff::{SignedDuration, Timestamp};

use crate::{
    Failure, Tx, security_events,
    statement::{pair, statements},
    tx::values,
};

/// Rows per table that one call removes.
const ROWS_A_CALL: i64 = 1_000;

/// How long the name of a deleted account stays reserved.
pub const NAME_RESERVED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long the events of an account are retained.
pub const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(365 * 24);

/// How long feed entries are retained: as long as events, because apps update their copies of account data from
/// the feed even after a long stop.
const FEED_KEPT: SignedDuration = EVENTS_KEPT;

statements! {
    SESSIONS = pair(
        "DELETE FROM sessions WHERE digest IN \
            (SELECT digest FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
        "DELETE FROM sessions WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
    );
    NAMES = pair(
        "DELETE FROM accounts WHERE id IN (SELECT id FROM accounts WHERE deleted_at <= ? LIMIT ?)",
        "DELETE FROM accounts WHERE deleted_at <= ? ORDER BY deleted_at LIMIT ?",
    );
    TICKETS = pair(
        "DELETE FROM tickets WHERE row IN \
            (SELECT row FROM tickets WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
        "DELETE FROM tickets WHERE expires_at <= ? ORDER BY expires_at LIMIT ?",
    );
    /// Row order is time order, except after a clock was set back.
    EVENTS = pair(
        "DELETE FROM account_events WHERE at <= ? AND row IN \
            (SELECT row FROM account_events WHERE row > 0 ORDER BY row LIMIT ?)",
        "DELETE FROM account_events WHERE at <= ? ORDER BY at LIMIT ?",
    );
    FEED = pair(
        "DELETE FROM account_feed WHERE at <= ? AND number IN \
            (SELECT number FROM account_feed WHERE number > 0 ORDER BY number LIMIT ?)",
        "DELETE FROM account_feed WHERE at <= ? ORDER BY at LIMIT ?",
    );
}

/// Removes a bounded number of expired rows. Returns how many, and whether more may be left.
pub fn remove_expired(tx: &mut dyn Tx, now: Timestamp) -> Result<(u64, bool), Failure> {
    let ago = |age| now.saturating_sub(age).unwrap_or(Timestamp::MIN);
    let (mut rows, mut more) = (0, false);
    for (statement, until) in [
        (&SESSIONS, now),
        (&NAMES, ago(NAME_RESERVED)),
        (&TICKETS, now),
        (&EVENTS, ago(EVENTS_KEPT)),
        (&FEED, ago(FEED_KEPT)),
    ] {
        let removed = tx.execute(statement, values![until, ROWS_A_CALL])?;
        more |= removed == ROWS_A_CALL.unsigned_abs();
        rows += removed;
    }
    let (removed, has_more) = security_events::remove_expired(tx, now, ROWS_A_CALL)?;
    Ok((rows + removed, more | has_more))
}
