//! A link as a row of the table `links`.

use jiff::Timestamp;
use lodge_domain::{
    keys::KeyId,
    links::{ClickLimit, Link, LinkId, Owner, RedirectCode, Short, Tags, Target},
    passwords::PasswordHash,
};
use rusqlite::{Connection, Result, Row, params, types::Type};
use uuid::Uuid;

/// The columns that [`read`] takes, in its order.
pub(crate) const COLUMNS: &str = "l.row, l.id, l.target, l.redirect, l.version, l.key_version, l.owner_key, l.created_at, \
    l.changed_at, l.deleted_at, l.expires_at, l.clicks_max, l.clicks_used, l.exhausted_at, l.password, l.tags, l.short";

const INSERT: &str = "INSERT INTO links (short, id, target, redirect, version, key_version, owner_key, created_at, changed_at, \
    deleted_at, expires_at, clicks_max, clicks_used, exhausted_at, password, tags) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (short) DO NOTHING";

const UPDATE: &str = "UPDATE links SET id = ?2, target = ?3, redirect = ?4, version = ?5, key_version = ?6, owner_key = ?7, \
    created_at = ?8, changed_at = ?9, deleted_at = ?10, expires_at = ?11, clicks_max = ?12, clicks_used = ?13, \
    exhausted_at = ?14, password = ?15, tags = ?16 WHERE short = ?1";

/// A link and the number of its row.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) row: i64,
    pub(crate) link: Link,
}

/// Reads [`COLUMNS`]; `short` if the caller has it.
pub(crate) fn read(row: &Row<'_>, short: Option<Short>) -> Result<Stored> {
    let time =
        |index: usize| row.get::<_, Option<i64>>(index)?.map(|at| instant(index, at)).transpose();
    let limit = |max: i64| -> Result<ClickLimit> {
        let used = row.get::<_, Option<i64>>(12)?.unwrap_or_default().cast_unsigned();
        Ok(ClickLimit { max: max.cast_unsigned(), used, exhausted_at: time(13)? })
    };
    let tags = match row.get::<_, Option<String>>(15)? {
        Some(json) => {
            serde_json::from_str(&json).map_err(|error| unreadable(15, Type::Text, error))?
        }
        None => Tags::default(),
    };
    let link = Link {
        id: LinkId(Uuid::from_bytes(row.get(1)?)),
        short: short.map_or_else(|| row.get(16).map(Short::stored), Ok)?,
        target: Target::stored(row.get(2)?),
        redirect: RedirectCode::try_from(row.get::<_, u16>(3)?)
            .map_err(|error| unreadable(3, Type::Integer, error))?,
        version: row.get::<_, i64>(4)?.cast_unsigned(),
        key_version: row.get(5)?,
        owner: row.get::<_, Option<i64>>(6)?.map(|id| Owner::Key(KeyId(id))),
        created_at: instant(7, row.get(7)?)?,
        changed_at: instant(8, row.get(8)?)?,
        deleted_at: time(9)?,
        expires_at: time(10)?,
        click_limit: row.get::<_, Option<i64>>(11)?.map(limit).transpose()?,
        password: row.get::<_, Option<String>>(14)?.map(PasswordHash),
        tags,
    };
    Ok(Stored { row: row.get(0)?, link })
}

/// Adds the link; false if its short is taken.
pub(crate) fn insert(connection: &Connection, link: &Link) -> Result<bool> {
    write(connection, INSERT, link)
}

/// Puts the link in place of the one that has its short.
pub(crate) fn update(connection: &Connection, link: &Link) -> Result<bool> {
    write(connection, UPDATE, link)
}

fn write(connection: &Connection, sql: &str, link: &Link) -> Result<bool> {
    let tags =
        (!link.tags.as_slice().is_empty()).then(|| serde_json::to_string(&link.tags)).transpose();
    let tags = tags.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    let limit = link.click_limit;
    let values = params![
        link.short.as_str(),
        link.id.0.as_bytes(),
        link.target.as_str(),
        u16::from(link.redirect),
        link.version.cast_signed(),
        link.key_version,
        link.owner.map(owner_key),
        link.created_at.as_millisecond(),
        link.changed_at.as_millisecond(),
        link.deleted_at.map(Timestamp::as_millisecond),
        link.expires_at.map(Timestamp::as_millisecond),
        limit.map(|limit| limit.max.cast_signed()),
        limit.map(|limit| limit.used.cast_signed()),
        limit.and_then(|limit| limit.exhausted_at).map(Timestamp::as_millisecond),
        link.password.as_ref().map(|hash| &hash.0),
        tags,
    ];
    Ok(connection.prepare_cached(sql)?.execute(values)? > 0)
}

/// The link with what the table does not keep taken off: parts of a millisecond. A limit that came in
/// used up gets its time, which an index of its own looks for.
pub(crate) fn storable(mut link: Link) -> Link {
    let whole = |at: Timestamp| Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at);
    link.created_at = whole(link.created_at);
    link.changed_at = whole(link.changed_at);
    link.deleted_at = link.deleted_at.map(whole);
    link.expires_at = link.expires_at.map(whole);
    if let Some(limit) = &mut link.click_limit {
        let used_up = (limit.used >= limit.max).then_some(link.changed_at);
        limit.exhausted_at = limit.exhausted_at.map(whole).or(used_up);
    }
    link
}

/// Brings the tables for lists and search from what the row `was` to what it `is`: only owners' links
/// that are not deleted are in them.
pub(crate) fn index(
    connection: &Connection,
    row: i64,
    was: Option<&Link>,
    is: Option<&Link>,
) -> Result<()> {
    let listed = |link: &&Link| link.owner.is_some() && link.deleted_at.is_none();
    let (was, is) = (was.filter(listed), is.filter(listed));
    let said = |link: Option<&Link>| link.map(|link| (link.short.clone(), link.target.clone()));
    let sorted = |link: Option<&Link>| link.map(|link| (link.owner, link.id, link.tags.clone()));
    if was.is_none() && is.is_none() {
        return Ok(());
    }
    if said(was) != said(is) {
        if was.is_some() {
            connection
                .prepare_cached("DELETE FROM link_search WHERE rowid = ?1")?
                .execute([row])?;
        }
        if let Some(link) = is {
            let sql = "INSERT INTO link_search (rowid, short, target) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute((
                row,
                link.short.as_str(),
                link.target.as_str(),
            ))?;
        }
    }
    if sorted(was) != sorted(is) {
        if let Some((link, owner)) =
            was.and_then(|link| link.owner.map(|owner| (link, owner_key(owner))))
        {
            let mut delete = connection.prepare_cached(
                "DELETE FROM link_tags WHERE owner_key = ?1 AND tag = ?2 AND id = ?3",
            )?;
            for tag in link.tags.as_slice() {
                delete.execute((owner, tag, link.id.0.as_bytes()))?;
            }
        }
        if let Some((link, owner)) =
            is.and_then(|link| link.owner.map(|owner| (link, owner_key(owner))))
        {
            let mut insert = connection.prepare_cached(
                "INSERT INTO link_tags (owner_key, tag, id, row) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for tag in link.tags.as_slice() {
                insert.execute((owner, tag, link.id.0.as_bytes(), row))?;
            }
        }
    }
    Ok(())
}

/// How an owner stands in the column `owner_key`.
pub(crate) fn owner_key(owner: Owner) -> i64 {
    let Owner::Key(id) = owner;
    id.0
}

fn instant(index: usize, milliseconds: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|error| unreadable(index, Type::Integer, error))
}

fn unreadable(
    index: usize,
    found: Type,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(index, found, Box::new(error))
}
