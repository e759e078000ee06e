//! A link as a row of the table `links`.

use jiff::Timestamp;
use lodge_domain::{
    links::{ClickLimit, Link, LinkId, Owner, RedirectCode, Short, Tags, Target},
    passwords::PasswordHash,
};
use rusqlite::{Connection, Result, Row, params, types::Type};
use uuid::Uuid;

use crate::query;

/// The columns that [`read`] reads, in order.
pub(crate) const COLUMNS: &str = "l.row, l.id, l.target, l.redirect, l.version, l.key_version, l.owner, l.created_at, \
    l.changed_at, l.deleted_at, l.expires_at, l.clicks_max, l.clicks_used, l.exhausted_at, l.password, l.tags, l.short";

pub(crate) const INSERT: &str = "INSERT INTO links (short, id, target, redirect, version, key_version, owner, created_at, changed_at, \
    deleted_at, expires_at, clicks_max, clicks_used, exhausted_at, password, tags) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (short) DO NOTHING";

pub(crate) const UPDATE: &str = "UPDATE links SET id = ?2, target = ?3, redirect = ?4, version = ?5, key_version = ?6, owner = ?7, \
    created_at = ?8, changed_at = ?9, deleted_at = ?10, expires_at = ?11, clicks_max = ?12, clicks_used = ?13, \
    exhausted_at = ?14, password = ?15, tags = ?16 WHERE short = ?1";

pub(crate) const DELETE: &str = "DELETE FROM links WHERE row = ?1";

/// Statements that update the tables for lists and search.
pub(crate) const INDEX: [&str; 4] = [
    "DELETE FROM link_search WHERE rowid = ?1",
    "INSERT INTO link_search (rowid, short, target, tags) VALUES (?1, ?2, ?3, ?4)",
    "DELETE FROM link_tags WHERE owner = ?1 AND tag = ?2 AND id = ?3",
    "INSERT INTO link_tags (owner, tag, id, row) VALUES (?1, ?2, ?3, ?4)",
];

/// A link and its row number.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) row: i64,
    pub(crate) link: Link,
}

/// Reads [`COLUMNS`]; a caller that has the short passes it to save a copy.
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
        owner: row.get::<_, Option<i64>>(6)?.map(Owner::of_number),
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

/// Inserts the link; returns false if its short is taken.
pub(crate) fn insert(connection: &Connection, link: &Link) -> Result<bool> {
    write(connection, INSERT, link)
}

/// Overwrites the link that has the same short.
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
        link.owner.map(Owner::to_number),
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
    Ok(query::run(connection, sql, values)? > 0)
}

/// Updates the tables for lists and search from the link that the row `was` to the one it `is`. They have only links
/// that have an owner and are not deleted.
pub(crate) fn index(
    connection: &Connection,
    row: i64,
    was: Option<&Link>,
    is: Option<&Link>,
) -> Result<()> {
    let [forget_words, add_words, forget_tag, add_tag] = INDEX;
    let (was, is) = (Listed::of(was), Listed::of(is));
    if was.map(Listed::words) != is.map(Listed::words) {
        if was.is_some() {
            query::run(connection, forget_words, [row])?;
        }
        if let Some((short, target, tags)) = is.map(Listed::words) {
            query::run(connection, add_words, (row, short, target, tags.as_slice().join(" ")))?;
        }
    }
    if was.map(Listed::sorted_by) != is.map(Listed::sorted_by) {
        for (owner, id, tag) in was.iter().flat_map(Listed::tags) {
            query::run(connection, forget_tag, (owner, tag, id))?;
        }
        for (owner, id, tag) in is.iter().flat_map(Listed::tags) {
            query::run(connection, add_tag, (owner, tag, id, row))?;
        }
    }
    Ok(())
}

/// A link that is in its owner's lists.
#[derive(Clone, Copy)]
struct Listed<'a> {
    owner: Owner,
    link: &'a Link,
}

impl<'a> Listed<'a> {
    fn of(link: Option<&'a Link>) -> Option<Self> {
        let link = link.filter(|link| link.deleted_at.is_none())?;
        Some(Self { owner: link.owner?, link })
    }

    fn words(self) -> (&'a str, &'a str, &'a Tags) {
        (self.link.short.as_str(), self.link.target.as_str(), &self.link.tags)
    }

    fn sorted_by(self) -> (Owner, LinkId, &'a Tags) {
        (self.owner, self.link.id, &self.link.tags)
    }

    fn tags(&self) -> impl Iterator<Item = (i64, &'a [u8; 16], &'a String)> + use<'a> {
        let (owner, link) = (self.owner.to_number(), self.link);
        link.tags.as_slice().iter().map(move |tag| (owner, link.id.0.as_bytes(), tag))
    }
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
