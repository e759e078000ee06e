//! Lists of links: an owner's, newest first, and all links for export.

use std::{
    fmt::Write,
    sync::{Arc, LazyLock},
};

use lodge_domain::links::{Link, LinkQuery, Short};
use rusqlite::{Connection, Row, types::Value};

use super::{
    row::{COLUMNS, read},
    search::{Plan, Words},
};
use crate::{failure::Failure, query};

/// Links in one page at most.
const LIMIT_MAX: usize = 1_000;

/// Sorts after every id.
const AFTER_ALL_IDS: [u8; 17] = [0xff; 17];

/// An SQL statement with its values, built part by part.
#[derive(Default)]
struct Query {
    sql: String,
    values: Vec<Value>,
}

impl Query {
    /// Appends `sql`, binding every `?` in it to the same `value`.
    fn push_with(&mut self, sql: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let number = format!("?{}", self.values.len());
        self.sql.push_str(&sql.replace('?', &number));
    }
}

/// Returns an owner's links, newest first.
pub(crate) fn list(connection: &Connection, query: &LinkQuery) -> Result<Vec<Arc<Link>>, Failure> {
    let words = query.search.as_deref().map(Words::parse).transpose()?.unwrap_or_default();
    let plan = words.plan(connection)?;
    let limit = query.limit.clamp(1, LIMIT_MAX);
    let Some(query) = build(query, &words, plan) else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(&query.sql)?;
    let links = statement.query_map(rusqlite::params_from_iter(query.values), read_link)?;
    let found = links.filter(|link| link.as_ref().map_or(true, |link| words.occur_in(link)));
    Ok(found.take(limit).collect::<rusqlite::Result<_>>()?)
}

fn build(query: &LinkQuery, words: &Words, plan: Plan) -> Option<Query> {
    let owner = query.owner.to_number();
    let mut built = Query::default();
    write!(built.sql, "SELECT {COLUMNS} FROM ").ok()?;
    // The cross joins force this join order, the most selective table first.
    let id = match (plan, &query.tag) {
        (Plan::Index, _) => {
            built.push_with(
                "link_search s CROSS JOIN links l ON l.row = s.rowid WHERE link_search MATCH ?",
                words.matching(),
            );
            built.push_with(" AND l.owner = ? AND l.deleted_at IS NULL", owner);
            "l.id"
        }
        (Plan::Scan, Some(tag)) => {
            built.push_with(
                "link_tags t CROSS JOIN links l ON l.row = t.row WHERE t.owner = ?",
                owner,
            );
            built.push_with(" AND t.tag = ?", tag.clone());
            "t.id"
        }
        (Plan::Scan, None) => {
            built.push_with(
                "links l INDEXED BY links_by_owner WHERE l.owner = ? AND l.deleted_at IS NULL",
                owner,
            );
            "l.id"
        }
    };
    let after = query.after.map_or_else(|| AFTER_ALL_IDS.to_vec(), |id| id.0.as_bytes().to_vec());
    built.push_with(&format!(" AND {id} < ?"), after);
    if let (Plan::Index, Some(tag)) = (plan, &query.tag) {
        built.push_with(" AND EXISTS (SELECT 1 FROM link_tags t WHERE t.owner = ?", owner);
        built.push_with(" AND t.tag = ? AND t.id = l.id)", tag.clone());
    }
    if let Some(prefix) = query.prefix.as_deref().filter(|prefix| !prefix.is_empty()) {
        built.push_with(" AND l.short >= ?", prefix.to_owned());
        built.push_with(" AND l.short < ?", end_of_prefix(prefix)?);
    }
    write!(built.sql, " ORDER BY {id} DESC").ok()?;
    Some(built)
}

/// Returns the first text after all that start with `prefix`; `None` if no short can have the prefix.
fn end_of_prefix(prefix: &str) -> Option<String> {
    if !prefix.is_ascii() {
        return None;
    }
    let last = prefix.bytes().last()?;
    Some(format!("{}{}", &prefix[..prefix.len() - 1], char::from(last + 1)))
}

/// Returns the SQL of a list query; `None` if nothing can match.
#[cfg(test)]
pub(crate) fn sql(query: &LinkQuery, plan: Plan) -> Option<String> {
    let words = Words::parse(query.search.as_deref().unwrap_or_default()).ok()?;
    build(query, &words, plan).map(|built| built.sql)
}

pub(crate) static PAGE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {COLUMNS} FROM links l WHERE l.short > ?1 AND l.deleted_at IS NULL ORDER BY l.short LIMIT ?2"
    )
});

/// Returns a page of all links that are not deleted, in the order of shorts.
pub(crate) fn page(
    connection: &Connection,
    after: Option<&Short>,
    limit: usize,
) -> Result<Vec<Arc<Link>>, Failure> {
    let limit = i64::try_from(limit.clamp(1, LIMIT_MAX)).unwrap_or(1);
    Ok(query::all(connection, &PAGE, (after.map_or("", Short::as_str), limit), read_link)?)
}

fn read_link(row: &Row<'_>) -> rusqlite::Result<Arc<Link>> {
    Ok(Arc::new(read(row, None)?.link))
}
