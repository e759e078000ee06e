//! A data folder as the source of a move to another store: locked, and opened read-only.

use std::{collections::BTreeMap, path::Path, sync::LazyLock, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use lodge_domain::{
    Error, IdempotencyKey, Result,
    links::{
        Device, Link, LinkId, Short,
        moving::{Clicks, Extent, MovingLink, Source, StoredKey, StoredOutcome},
    },
    secret::InstallationSecret,
};
use lodge_sql::{App, Database, ReadKind, Work, read_key};
use rusqlite::{Connection, Row};

use crate::{
    Options, clicks,
    failure::Failure,
    folder::{self, Folder, OpenError},
    installation::{self, ANY_ACCOUNT},
    links,
    links::row::{COLUMNS, read},
    migrations, query,
    readers::{Readers, Size},
    tx::{SqliteRow, SqliteTx},
};

/// Rows of clicks after which a page of links ends; a link may have thousands.
const CLICK_ROWS_A_PAGE: usize = 20_000;

/// Requests that may wait; a move reads its pages sequentially.
const QUEUE: usize = 64;

/// How long one read may take: the counts of all rows read the whole file.
const TIME_MAX: Duration = Duration::from_hours(1);

/// A data folder that is locked and opened read-only.
pub struct MovingFolder {
    readers: Readers,
    _folder: Folder,
}

impl MovingFolder {
    /// Locks `folder` and opens its database read-only. Blocks.
    ///
    /// # Errors
    ///
    /// When another process has locked the folder, or it has no database of this schema version.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, OpenError> {
        let file = folder.join("lodge.db");
        // Checked first, because locking creates a missing folder.
        std::fs::metadata(&file)
            .map_err(|source| OpenError::File { path: file.clone(), source })?;
        let lock = Folder::lock(folder)?;
        let found = folder::version(&file)?;
        if found < migrations::NEWEST {
            return Err(OpenError::Older { file, found, needed: migrations::NEWEST });
        }
        let page_cache_bytes = options.page_cache_bytes;
        let size = Size { threads: 1, queue: QUEUE, page_cache_bytes, time_max: TIME_MAX };
        Ok(Self { readers: Readers::start(&file, size)?, _folder: lock })
    }

    /// Whether the folder has accounts.
    pub async fn has_accounts(&self) -> Result<bool> {
        let has_any =
            |connection: &Connection| Ok(connection.query_row(ANY_ACCOUNT, [], |row| row.get(0))?);
        self.readers.read(App::Accounts, has_any).await
    }

    /// Returns the id of the accounts, to which links are bound.
    pub async fn accounts_id(&self) -> Result<[u8; 32]> {
        let kept = |connection: &Connection| {
            Ok(query::one(connection, ACCOUNTS_ID, [], |row| row.get(0))?)
        };
        match self.readers.read(App::Accounts, kept).await? {
            Some(id) => Ok(id),
            None => Ok(installation::first_accounts_id(&self.secret().await?)),
        }
    }

    /// Returns the number of accounts that have a picture.
    pub async fn pictured_accounts(&self) -> Result<u64> {
        let count =
            |connection: &Connection| Ok(connection.query_row(PICTURED, [], |row| row.get(0))?);
        self.readers.read(App::Accounts, count).await
    }

    /// Returns the last id that an account got; 0 before the first.
    pub async fn last_account_id(&self) -> Result<i64> {
        let last = |connection: &Connection| {
            Ok(query::one(connection, LAST_ACCOUNT, [], |row| row.get(0))?)
        };
        Ok(self.readers.read(App::Accounts, last).await?.unwrap_or_default())
    }
}

#[async_trait]
impl Database for MovingFolder {
    async fn run_read(&self, app: App, _: ReadKind, work: Work) -> Result<()> {
        let work = move |connection: &Connection| Ok(work(&mut SqliteTx(connection))?);
        self.readers.run(app, Box::new(work)).await
    }

    async fn run_write(&self, _: App, _: Work) -> Result<()> {
        Err(Error::internal("the folder that is moved is only read"))
    }
}

#[async_trait]
impl Source for MovingFolder {
    async fn secret(&self) -> Result<InstallationSecret> {
        let kept =
            |connection: &Connection| Ok(query::one(connection, SECRET, [], |row| row.get(0))?);
        let secret: Option<[u8; 32]> = self.readers.read(App::Links, kept).await?;
        secret
            .map(InstallationSecret::new)
            .ok_or_else(|| Error::internal("the database has no installation secret"))
    }

    async fn extent(&self) -> Result<Extent> {
        self.readers.read(App::Links, extent).await
    }

    async fn keys(&self) -> Result<Vec<StoredKey>> {
        let all = |connection: &Connection| {
            let mut statement = connection.prepare_cached(KEYS)?;
            let mut rows = statement.query([])?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                let key = read_key(lodge_sql::Row(&SqliteRow(row)))?;
                keys.push(StoredKey { key, digest: row.get(4)? });
            }
            Ok(keys)
        };
        self.readers.read(App::Links, all).await
    }

    async fn links(&self, after: Option<Short>, limit: usize) -> Result<Vec<MovingLink>> {
        self.readers
            .read(App::Links, move |connection| page(connection, after.as_ref(), limit))
            .await
    }

    async fn find(&self, shorts: Vec<Short>) -> Result<Vec<Option<MovingLink>>> {
        let find = move |connection: &Connection| {
            let find_one = |short: &Short| {
                let found = links::by_short(connection, short)?;
                found.map(|stored| with_clicks(connection, stored.link)).transpose()
            };
            shorts.iter().map(find_one).collect()
        };
        self.readers.read(App::Links, find).await
    }

    async fn outcomes(
        &self,
        after: i64,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<StoredOutcome>> {
        self.readers
            .read(App::Links, move |connection| outcomes(connection, after, since, limit))
            .await
    }
}

const SECRET: &str = "SELECT value FROM meta WHERE name = 'secret'";

const ACCOUNTS_ID: &str = "SELECT value FROM meta WHERE name = 'accounts_id'";

/// Ids are not reused, so the last one can be that of an account whose row is removed.
const PICTURED: &str =
    "SELECT count(*) FROM accounts WHERE picture IS NOT NULL AND deleted_at IS NULL";

const LAST_ACCOUNT: &str = "SELECT seq FROM sqlite_sequence WHERE name = 'accounts'";

const KEYS: &str = "SELECT id, name, created_at, revoked_at, digest FROM api_keys ORDER BY id";

/// Counts of links, keys and clicks, then figures of which at least one changes with every write to links: versions
/// rise with each change, used and counted clicks with each redirect, row numbers with each creation; cleanup removes
/// rows.
const EXTENT: &str = "SELECT \
    (SELECT count(*) FROM links), (SELECT count(*) FROM api_keys), \
    (SELECT coalesce(sum(clicks), 0) FROM clicks_hour) + (SELECT coalesce(sum(clicks), 0) FROM clicks_day), \
    (SELECT coalesce(max(row), 0) FROM links), (SELECT coalesce(sum(version), 0) FROM links), \
    (SELECT coalesce(sum(key_version), 0) FROM links), (SELECT coalesce(max(changed_at), 0) FROM links), \
    (SELECT coalesce(sum(clicks_used), 0) FROM links), (SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL), \
    (SELECT count(*) FROM clicks_hour), (SELECT count(*) FROM clicks_day), (SELECT count(*) FROM referrers), \
    (SELECT coalesce(max(row), 0) FROM outcomes WHERE app = 0)";

fn extent(connection: &Connection) -> Result<Extent, Failure> {
    let figures = |row: &Row<'_>| (0..13).map(|column| row.get(column)).collect();
    let figures: Vec<i64> = connection.query_row(EXTENT, [], figures)?;
    let count = |place: usize| figures[place].cast_unsigned();
    Ok(Extent { links: count(0), keys: count(1), clicks: count(2), marks: figures[3..].to_vec() })
}

static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT {COLUMNS} FROM links l WHERE l.short > ?1 ORDER BY l.short LIMIT ?2")
});

/// Returns a page of links in the order of shorts, ended and deleted ones included.
fn page(
    connection: &Connection,
    after: Option<&Short>,
    limit: usize,
) -> Result<Vec<MovingLink>, Failure> {
    let mut statement = connection.prepare_cached(&PAGE)?;
    let mut rows = statement.query((after.map_or("", Short::as_str), sql_limit(limit)))?;
    let (mut links, mut click_rows) = (Vec::new(), 0);
    while click_rows < CLICK_ROWS_A_PAGE
        && let Some(row) = rows.next()?
    {
        let link = with_clicks(connection, read(row, None)?.link)?;
        let Clicks { days, hours, referrers } = &link.clicks;
        click_rows += days.len() + hours.len() + referrers.len();
        links.push(link);
    }
    Ok(links)
}

const HOURS: &str = "SELECT hour, device, clicks FROM clicks_hour WHERE link = ?1";

/// Clicks by day, including hours that are not rolled up yet.
const DAYS: &str = "SELECT day, device, clicks FROM clicks_day WHERE link = ?1 \
    UNION ALL SELECT hour / 24, device, clicks FROM clicks_hour WHERE link = ?1";

const REFERRERS: &str = "SELECT host, clicks FROM referrers WHERE link = ?1";

fn with_clicks(connection: &Connection, link: Link) -> Result<MovingLink, Failure> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, clicks::count(row, 1)?));
    let referrers = query::all(connection, REFERRERS, [link.id.0.as_bytes()], read)?;
    let days = by_time(connection, DAYS, link.id)?;
    let hours = by_time(connection, HOURS, link.id)?;
    Ok(MovingLink { link, clicks: Clicks { days, hours, referrers } })
}

fn by_time(
    connection: &Connection,
    sql: &str,
    link: LinkId,
) -> rusqlite::Result<BTreeMap<(i64, Device), u64>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([link.0.as_bytes()])?;
    let mut sums = BTreeMap::new();
    while let Some(row) = rows.next()? {
        *sums.entry((row.get(0)?, clicks::device(row.get(1)?))).or_default() +=
            clicks::count(row, 2)?;
    }
    Ok(sums)
}

const OUTCOMES: &str = "SELECT row, attempt, fingerprint, at, outcome FROM outcomes \
    WHERE row > ?1 AND at > ?2 AND app = 0 ORDER BY row LIMIT ?3";

fn outcomes(
    connection: &Connection,
    after: i64,
    since: Timestamp,
    limit: usize,
) -> Result<Vec<StoredOutcome>, Failure> {
    let mut statement = connection.prepare_cached(OUTCOMES)?;
    let mut rows = statement.query((after, since.as_millisecond(), sql_limit(limit)))?;
    let mut outcomes = Vec::new();
    while let Some(row) = rows.next()? {
        let at = Timestamp::from_millisecond(row.get(3)?).map_err(Error::internal)?;
        let attempt = IdempotencyKey { id: row.get(1)?, fingerprint: row.get(2)?, at };
        let outcome = serde_json::from_str(&row.get::<_, String>(4)?)?;
        outcomes.push(StoredOutcome { place: row.get(0)?, attempt, outcome });
    }
    Ok(outcomes)
}

/// Returns the statements that must use an index; only the extent reads all rows.
#[cfg(test)]
pub(crate) fn statements() -> Vec<String> {
    let fixed = [SECRET, ACCOUNTS_ID, HOURS, DAYS, REFERRERS, OUTCOMES].map(str::to_owned);
    fixed.into_iter().chain([PAGE.clone()]).collect()
}

/// Converts a limit to an SQL integer.
fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
