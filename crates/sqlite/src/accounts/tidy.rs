//! Removes what nobody needs any more of accounts, a little at a time.

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::failure::Failure;

/// Rows of each kind that one call removes.
const ROWS_A_CALL: i64 = 1_000;

/// How long the name of a deleted account is nobody's.
const NAME_RESERVED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How long it is known what happened to an account.
const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(365 * 24);

const SESSIONS: &str = "DELETE FROM sessions WHERE digest IN \
    (SELECT digest FROM sessions WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
const NAMES: &str = "DELETE FROM accounts WHERE id IN \
    (SELECT id FROM accounts WHERE deleted_at <= ?1 LIMIT ?2)";
const TICKETS: &str = "DELETE FROM tickets WHERE row IN \
    (SELECT row FROM tickets WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)";
/// Rows come in the order of time, but for a clock that was put back.
const EVENTS: &str = "DELETE FROM account_events WHERE row IN \
    (SELECT row FROM account_events WHERE row > 0 ORDER BY row LIMIT ?2) AND at <= ?1";

/// Every statement here.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 4] = [SESSIONS, NAMES, TICKETS, EVENTS];

/// Removes some rows; how many, and whether there are more.
pub(crate) fn tidy(connection: &Connection, now: Timestamp) -> Result<(u64, bool), Failure> {
    let ago = |age| now.saturating_sub(age).unwrap_or(Timestamp::MIN).as_millisecond();
    let (mut rows, mut more) = (0, false);
    for (sql, until) in [
        (SESSIONS, now.as_millisecond()),
        (NAMES, ago(NAME_RESERVED)),
        (TICKETS, now.as_millisecond()),
        (EVENTS, ago(EVENTS_KEPT)),
    ] {
        let removed = connection.prepare_cached(sql)?.execute((until, ROWS_A_CALL))?;
        more |= removed as u64 == ROWS_A_CALL.unsigned_abs();
        rows += removed as u64;
    }
    Ok((rows, more))
}

#[cfg(test)]
mod tests {
    use lodge_contract::{
        accounts::{event, fresh_name, made},
        samples::at,
        sessions::begun,
    };
    use lodge_domain::accounts::EventKind;

    use super::*;
    use crate::{Options, Sqlite, tests::open};

    #[tokio::test]
    async fn what_is_past_its_time_goes() {
        let (engine, _folder) = open(&Options::default());
        let embedded = Sqlite(engine);
        let (accounts, sessions) = (embedded.accounts(), embedded.sessions());
        let fixture = lodge_contract::AccountsFixture {
            accounts: std::sync::Arc::clone(&accounts),
            sessions,
            identities: embedded.identities(),
            guard: Box::new(()),
        };
        let (stays, goes) = (fresh_name(), fresh_name());
        let (stays, gone) = (made(&*accounts, &stays).await, made(&*accounts, &goes).await);
        begun(&fixture, &stays).await;
        accounts.remove(event(gone.id, EventKind::Deleted, 1)).await.unwrap().unwrap();
        let tidy = |now| embedded.tidy(now, SignedDuration::from_hours(1));
        assert_eq!(tidy(at(3599)).await.unwrap().accounts, 0);
        assert_eq!(tidy(at(3600)).await.unwrap().accounts, 1, "the session");
        assert_eq!(tidy(at(1) + NAME_RESERVED).await.unwrap().accounts, 1, "the name");
        let again = made(&*accounts, &goes).await;
        assert_ne!(again.id, gone.id, "nothing of the former account is the new one's");
        assert_eq!(tidy(at(1) + EVENTS_KEPT).await.unwrap().accounts, 5, "what happened");
        assert!(accounts.get(stays.id).await.unwrap().is_some());
    }
}
