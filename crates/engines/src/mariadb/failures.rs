//! Counters of wrong passwords that all processes share.

use std::{net::IpAddr, time::Duration};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use lodge_domain::{
    Error, Result,
    failures::{Failures, PER_ADDRESS_MAX, PER_NAME_MAX, PER_SITE_MAX, WINDOW},
    network::site_of,
    secret::token_digest,
};
use lodge_sql::{App, Failure, Statement, Tx, Value};
use tokio::runtime::Handle;

use super::MariaDb;

/// Counts a failure, the first one of a window if the last window is over or all of its failures were reverted. In
/// MariaDB each assignment sees those before it.
const COUNT: Statement = Statement::mariadb(
    "INSERT INTO failures (name, origin, since, failures) VALUES (?, ?, ?, 1) ON DUPLICATE KEY UPDATE \
     failures = IF(since > ? AND failures > 0, failures + 1, 1), since = IF(failures = 1, VALUES(since), since)",
);
const GET: Statement =
    Statement::mariadb("SELECT failures, since FROM failures WHERE name = ? AND origin = ?");
const REVERT: Statement = Statement::mariadb(
    "UPDATE failures SET failures = failures - 1 WHERE name = ? AND origin = ? AND failures > 0",
);
const RESET: Statement = Statement::mariadb("DELETE FROM failures WHERE name = ? AND origin = ?");
/// Deletes counters whose window is over.
pub(super) const REMOVE_OLD: Statement =
    Statement::mariadb("DELETE FROM failures WHERE since <= ? ORDER BY since LIMIT ?");

/// A counter: of a name, of a name and a site, or of a name and an address.
struct Counter {
    name: [u8; 32],
    origin: Vec<u8>,
    max: u32,
}

/// Returns the counters of a failure, always in the same order, in which they are locked.
fn counters(name: &str, from: Option<IpAddr>) -> Vec<Counter> {
    let name = token_digest(name);
    let of = |sort: u8, address: IpAddr, max| {
        let mut origin = vec![sort];
        match address {
            IpAddr::V4(address) => origin.extend(address.octets()),
            IpAddr::V6(address) => origin.extend(address.octets()),
        }
        Counter { name, origin, max }
    };
    let of_name = Counter { name, origin: Vec::new(), max: PER_NAME_MAX };
    let site = from.filter(IpAddr::is_ipv6).map(|from| of(b's', site_of(from), PER_SITE_MAX));
    let address = from.map(|from| of(b'a', from, PER_ADDRESS_MAX));
    [Some(of_name), site, address].into_iter().flatten().collect()
}

#[async_trait]
impl Failures for MariaDb {
    async fn count(&self, name: &str, from: Option<IpAddr>, at: Timestamp) -> Result<()> {
        let counters = counters(name, from);
        let count = move |tx: &mut dyn Tx| counters.iter().try_for_each(|it| it.count(tx, at));
        self.database().write(App::Accounts, count).await
    }

    fn revert(&self, name: &str, from: Option<IpAddr>) {
        let (mariadb, counters) = (self.clone(), counters(name, from));
        let Ok(runtime) = Handle::try_current() else { return };
        runtime.spawn(async move {
            let revert = move |tx: &mut dyn Tx| {
                counters.iter().try_for_each(|counter| counter.run(tx, &REVERT))
            };
            if let Err(error) = mariadb.database().write(App::Accounts, revert).await {
                tracing::warn!(%error, "a failure without an answer stays counted");
            }
        });
    }

    async fn reset(&self, name: &str, from: Option<IpAddr>) {
        let counters = counters(name, from);
        let reset = move |tx: &mut dyn Tx| {
            counters.iter().try_for_each(|counter| {
                let is_of_address = counter.max == PER_ADDRESS_MAX;
                counter.run(tx, if is_of_address { &RESET } else { &REVERT })
            })
        };
        if let Err(error) = self.database().write(App::Accounts, reset).await {
            tracing::warn!(%error, "the failures before a right password stay counted");
        }
    }
}

impl Counter {
    fn key(&self) -> [Value<'_>; 2] {
        [Value::Bytes(&self.name), Value::Bytes(&self.origin)]
    }

    fn run(&self, tx: &mut dyn Tx, statement: &Statement) -> Result<(), Failure> {
        tx.execute(statement, &self.key()).map(drop)
    }

    /// Counts a failure; past the limit it fails, and the transaction counts nothing.
    fn count(&self, tx: &mut dyn Tx, at: Timestamp) -> Result<(), Failure> {
        let [name, origin] = self.key();
        let (now, over) = (Value::Int(at.as_millisecond()), Value::Int(window_before(at)));
        tx.execute(&COUNT, &[name, origin, now, over])?;
        let read = |row: lodge_sql::Row<'_>| Ok((row.get::<u32>(0)?, row.get::<Timestamp>(1)?));
        let Some((failures, since)) = tx.one(&GET, &self.key(), read)? else { return Ok(()) };
        if failures <= self.max {
            return Ok(());
        }
        let age = Duration::try_from(at.duration_since(since)).unwrap_or_default();
        Err(Error::TooMany { retry_after: WINDOW.saturating_sub(age) }.into())
    }
}

/// Returns the latest start, in milliseconds, of a window that is over at `now`.
pub(super) fn window_before(now: Timestamp) -> i64 {
    let window = SignedDuration::try_from(WINDOW).unwrap_or(SignedDuration::MAX);
    now.saturating_sub(window).unwrap_or(Timestamp::MIN).as_millisecond()
}
