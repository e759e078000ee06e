//! The change feed of accounts: names accounts whose cached sessions may be stale.
//!
//! One row numbers the entries, and is locked from the numbering to the commit. So the order of numbers is the order
//! of commits, and a reader that has read up to a number never misses a smaller one. An auto-increment number has no
//! such order.

use jiff::Timestamp;
use lodge_domain::{
    Error,
    accounts::{AccountId, FeedPage, FeedPosition},
};
use uuid::Uuid;

use crate::{
    Failure, Tx,
    statement::{same, statements},
    tx::values,
};

statements! {
    NEXT = same("UPDATE account_feed_head SET number = number + 1 WHERE id = 1");
    APPEND = same("INSERT INTO account_feed (number, account, at) \
        SELECT number, ?, ? FROM account_feed_head WHERE id = 1");
    LATEST = same("SELECT number FROM account_feed_head WHERE id = 1");
    SINCE = same("SELECT number, account FROM account_feed WHERE number > ? ORDER BY number LIMIT ?");
}

/// Entries that one poll of the feed reads.
const ENTRIES_PER_POLL: i64 = 1_000;

/// Appends an entry for the account, in this transaction.
pub(super) fn append(tx: &mut dyn Tx, account: AccountId, at: Timestamp) -> Result<(), Failure> {
    let numbered = tx.execute(&NEXT, values![])?;
    let told = tx.execute(&APPEND, values![account.0, at])?;
    if (numbered, told) != (1, 1) {
        return Err(Error::internal("account_feed_head has no row").into());
    }
    Ok(())
}

/// Returns the accounts that have entries in the feed after a position.
pub(super) fn changed_since(
    tx: &mut dyn Tx,
    feed: Uuid,
    place: Option<FeedPosition>,
) -> Result<FeedPage, Failure> {
    let Some(place) = place else { return from_end(tx, feed, false) };
    if place.feed != feed {
        return from_end(tx, feed, true);
    }
    let read = |row: crate::Row<'_>| Ok((row.get::<i64>(0)?, AccountId(row.get(1)?)));
    let told = tx.all(&SINCE, values![place.at, ENTRIES_PER_POLL], read)?;
    let (Some((first, _)), Some((last, _))) = (told.first(), told.last()) else {
        // The position is past the end, or the entries after it have been removed.
        if place.at != latest(tx)? {
            return from_end(tx, feed, true);
        }
        return Ok(FeedPage { accounts: Vec::new(), place, more: false, begins_anew: false });
    };
    // Numbers have no gaps, so a missing entry has been removed.
    if *first != place.at + 1 {
        return from_end(tx, feed, true);
    }
    let (place, more) =
        (FeedPosition { feed, at: *last }, told.len() as u64 == ENTRIES_PER_POLL.unsigned_abs());
    let accounts = told.into_iter().map(|(_, account)| account).collect();
    Ok(FeedPage { accounts, place, more, begins_anew: false })
}

fn latest(tx: &mut dyn Tx) -> Result<i64, Failure> {
    Ok(tx.one(&LATEST, values![], |row| row.get(0))?.unwrap_or(0))
}

fn from_end(tx: &mut dyn Tx, feed: Uuid, begins_anew: bool) -> Result<FeedPage, Failure> {
    let place = FeedPosition { feed, at: latest(tx)? };
    Ok(FeedPage { accounts: Vec::new(), place, more: false, begins_anew })
}
