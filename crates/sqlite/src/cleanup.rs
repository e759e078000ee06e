//! Removes expired rows in small steps, so that other writes do not wait long.

use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Result,
    links::{Short, clicks::OTHER_REFERRERS},
};
use lodge_sql::{App, accounts, outcomes};
use parking_lot::Mutex;
use rusqlite::{Connection, Row};

use crate::{clicks::ADD_REFERRERS, engine::Engine, failure::Failure, links, query, tx::SqliteTx};

/// Stored outcomes that one call removes.
const OUTCOMES_A_CALL: i64 = 1_000;

/// Links that one call, and one write, removes; each link may have thousands of rows of clicks.
const LINKS_A_CALL: usize = 200;
const LINKS_A_WRITE: usize = 10;

/// Links that one call visits to find rows to roll up, and that one write rolls up.
const VISITS_A_CALL: usize = 2_000;
const ROLLED_UP_A_WRITE: usize = 20;

/// Referrers that one write folds.
const REFERRERS_A_WRITE: i64 = 2_000;

/// Referrers that a link keeps by name, besides the sum of all others.
const REFERRERS_KEPT: i64 = 500;

/// Hours after which hourly clicks are rolled up into days.
const HOURS_KEPT: i64 = 31 * 24;

#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 11] = [
    REMOVE_OUTCOMES,
    ENDED[0],
    ENDED[1],
    ENDED[2],
    NEXT_HOURS,
    NEXT_REFERRERS,
    COUNT_REFERRERS,
    ADD_HOURS_TO_DAYS,
    REMOVE_HOURS,
    RARE_REFERRERS,
    REMOVE_REFERRER,
];

/// Rows removed by one call of cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanupReport {
    /// Expired outcomes of idempotency keys.
    pub outcomes: u64,
    /// Links whose shorts are free again.
    pub links: u64,
    /// Rows of hourly clicks rolled up into days.
    pub hours: u64,
    /// Rows of referrers folded into the others.
    pub referrers: u64,
    /// Rows of accounts: expired sessions, tickets, events and feed entries, and names that are free again.
    pub accounts: u64,
    /// Whether there is more to remove now.
    pub more: bool,
}

/// Positions of the walks over the clicks of all links; they restart once both have ended.
#[derive(Debug, Default)]
pub(crate) struct CleanupPosition(Mutex<[Walk; 2]>);

#[derive(Debug, Clone)]
enum Walk {
    /// The next link comes after this id.
    After(Vec<u8>),
    Ended,
}

impl Default for Walk {
    fn default() -> Self {
        Self::After(Vec::new())
    }
}

pub(crate) async fn remove_expired(
    engine: &Engine,
    now: Timestamp,
    reserved: SignedDuration,
) -> Result<CleanupReport> {
    let remove = move |connection: &_| remove_outcomes(connection, now);
    let outcomes = engine.writer.write(App::Links, remove).await?;

    let over = move |connection: &_| Ok(ended_links(connection, now, reserved)?);
    let over = engine.exports.read(App::Links, over).await?;
    let many_over = over.len() >= LINKS_A_CALL;
    let mut links = 0;
    for shorts in over.chunks(LINKS_A_WRITE) {
        let shorts = shorts.to_vec();
        let remove = move |connection: &_| remove_links(connection, &shorts, now, reserved);
        links += engine.writer.write(App::Links, remove).await?;
    }

    let [hours_from, referrers_from] = engine.cleanup_position.0.lock().clone();
    let kept_from = now.as_second().div_euclid(3600) - HOURS_KEPT;
    let due = move |connection: &_| {
        Ok(walk(connection, hours_from, |c, link| next_hours(c, link, kept_from))?)
    };
    let (with_hours, hours_to) = engine.exports.read(App::Links, due).await?;
    let mut hours = 0;
    for ids in with_hours.chunks(ROLLED_UP_A_WRITE) {
        let ids = ids.to_vec();
        let roll_up = move |connection: &_| roll_up_hours(connection, &ids, kept_from);
        hours += engine.writer.write(App::Links, roll_up).await?;
    }
    let due = move |connection: &_| Ok(walk(connection, referrers_from, next_referrers)?);
    let (with_referrers, referrers_to) = engine.exports.read(App::Links, due).await?;
    let mut referrers = 0;
    for id in with_referrers {
        loop {
            let id = id.clone();
            let fold = move |connection: &_| fold_referrers(connection, &id);
            let folded = engine.writer.write(App::Links, fold).await?;
            referrers += folded;
            if folded == 0 {
                break;
            }
        }
    }
    let walking = !matches!((&hours_to, &referrers_to), (Walk::Ended, Walk::Ended));
    *engine.cleanup_position.0.lock() =
        if walking { [hours_to, referrers_to] } else { <[Walk; 2]>::default() };
    let of_accounts = move |connection: &Connection| {
        Ok(accounts::remove_expired(&mut SqliteTx(connection), now)?)
    };
    let (accounts, more_accounts) = engine.writer.write(App::Accounts, of_accounts).await?;
    let more = walking || many_over || more_accounts || outcomes == OUTCOMES_A_CALL.unsigned_abs();
    Ok(CleanupReport { outcomes, links, hours, referrers, accounts, more })
}

const REMOVE_OUTCOMES: &str = "DELETE FROM outcomes WHERE row IN (SELECT row FROM outcomes WHERE at <= ?1 ORDER BY at LIMIT ?2)";

fn remove_outcomes(connection: &Connection, now: Timestamp) -> Result<u64, Failure> {
    let values = (outcomes::valid_since(now), OUTCOMES_A_CALL);
    Ok(query::run(connection, REMOVE_OUTCOMES, values)? as u64)
}

/// The three ways in which a link can have ended, distinguished like in [`lodge_domain::links::Link::state`].
const ENDED: [&str; 3] = [
    "SELECT short FROM links WHERE deleted_at <= ?1 LIMIT ?3",
    "SELECT short FROM links WHERE expires_at <= ?1 AND deleted_at IS NULL LIMIT ?3",
    "SELECT short FROM links WHERE exhausted_at <= ?1 AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ?2) LIMIT ?3",
];

/// Returns some shorts whose links ended longer than `reserved` ago.
fn ended_links(
    connection: &Connection,
    now: Timestamp,
    reserved: SignedDuration,
) -> rusqlite::Result<Vec<Short>> {
    let until = now.saturating_sub(reserved).unwrap_or(Timestamp::MIN).as_millisecond();
    let mut shorts = Vec::new();
    for sql in ENDED {
        let left = i64::try_from(LINKS_A_CALL - shorts.len()).unwrap_or(0);
        let values = (until, now.as_millisecond(), left);
        let read = |row: &Row<'_>| row.get(0).map(Short::stored);
        shorts.extend(query::all::<_, Vec<_>>(connection, sql, values, read)?);
    }
    Ok(shorts)
}

fn remove_links(
    connection: &Connection,
    shorts: &[Short],
    now: Timestamp,
    reserved: SignedDuration,
) -> Result<u64, Failure> {
    let mut removed = 0;
    for short in shorts {
        let stored = links::by_short(connection, short)?
            .filter(|stored| stored.link.is_reservation_over(now, reserved));
        if let Some(stored) = stored {
            links::delete(connection, &stored)?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The next link after an id, and whether it has rows to roll up.
type Next = Option<(Vec<u8>, bool)>;

/// Visits up to [`VISITS_A_CALL`] links from `from`; returns those with rows to roll up, and the new position.
fn walk(
    connection: &Connection,
    from: Walk,
    next: impl Fn(&Connection, &[u8]) -> rusqlite::Result<Next>,
) -> rusqlite::Result<(Vec<Vec<u8>>, Walk)> {
    let Walk::After(mut last) = from else { return Ok((Vec::new(), Walk::Ended)) };
    let mut found = Vec::new();
    for _ in 0..VISITS_A_CALL {
        let Some((link, is_due)) = next(connection, &last)? else {
            return Ok((found, Walk::Ended));
        };
        last.clone_from(&link);
        if is_due {
            found.push(link);
        }
    }
    Ok((found, Walk::After(last)))
}

const NEXT_HOURS: &str =
    "SELECT link, hour FROM clicks_hour WHERE link > ?1 ORDER BY link, hour LIMIT 1";
const NEXT_REFERRERS: &str = "SELECT link FROM referrers WHERE link > ?1 ORDER BY link LIMIT 1";
const COUNT_REFERRERS: &str =
    "SELECT count(*) FROM (SELECT 1 FROM referrers WHERE link = ?1 LIMIT ?2)";

fn next_hours(connection: &Connection, after: &[u8], kept_from: i64) -> rusqlite::Result<Next> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)? < kept_from));
    query::one(connection, NEXT_HOURS, [after], read)
}

fn next_referrers(connection: &Connection, after: &[u8]) -> rusqlite::Result<Next> {
    let next = query::one(connection, NEXT_REFERRERS, [after], |row| row.get::<_, Vec<u8>>(0))?;
    let Some(link) = next else { return Ok(None) };
    // The sum of the others is a row, too.
    let enough = REFERRERS_KEPT + 2;
    let rows: i64 =
        connection.prepare_cached(COUNT_REFERRERS)?.query_row((&link, enough), |row| row.get(0))?;
    Ok(Some((link, rows >= enough)))
}

const ADD_HOURS_TO_DAYS: &str = "INSERT INTO clicks_day (link, day, device, clicks) \
    SELECT link, hour / 24, device, sum(clicks) FROM clicks_hour WHERE link = ?1 AND hour < ?2 GROUP BY hour / 24, device \
    ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks";
const REMOVE_HOURS: &str = "DELETE FROM clicks_hour WHERE link = ?1 AND hour < ?2";

fn roll_up_hours(
    connection: &Connection,
    links: &[Vec<u8>],
    kept_from: i64,
) -> Result<u64, Failure> {
    let mut rows = 0;
    for link in links {
        query::run(connection, ADD_HOURS_TO_DAYS, (link, kept_from))?;
        rows += query::run(connection, REMOVE_HOURS, (link, kept_from))? as u64;
    }
    Ok(rows)
}

const REMOVE_REFERRER: &str = "DELETE FROM referrers WHERE link = ?1 AND host = ?2";
const RARE_REFERRERS: &str = "SELECT host, clicks FROM referrers WHERE link = ?1 AND host <> ?2 \
    ORDER BY clicks DESC, host LIMIT ?3 OFFSET ?4";

fn fold_referrers(connection: &Connection, link: &[u8]) -> Result<u64, Failure> {
    let values = (link, OTHER_REFERRERS, REFERRERS_A_WRITE, REFERRERS_KEPT);
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rare: Vec<(String, i64)> = query::all(connection, RARE_REFERRERS, values, read)?;
    if rare.is_empty() {
        return Ok(0);
    }
    for (host, _) in &rare {
        query::run(connection, REMOVE_REFERRER, (link, host))?;
    }
    let clicks: i64 = rare.iter().map(|(_, clicks)| clicks).sum();
    query::run(connection, ADD_REFERRERS, (link, OTHER_REFERRERS, clicks))?;
    Ok(rare.len() as u64)
}
