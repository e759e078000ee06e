//! Replacement of a link by `PUT`: the newest wins.

use lodge_domain::links::{Link, Replaced, Replacement};
use rusqlite::Connection;

use super::{
    find::by_short,
    row::{index, insert, update},
};
use crate::failure::Failure;

/// Stores `link` under its short, unless the stored link is newer; returns the link that is then stored.
pub(crate) fn replace(connection: &Connection, link: Link) -> Result<Replaced, Failure> {
    let was = by_short(connection, &link.short)?;
    let is = match link.replacing(was.as_ref().map(|was| was.link.clone())) {
        Replacement::Stays(is) => return Ok(is),
        Replacement::Becomes(is) => is,
    };
    let row = if let Some(was) = &was {
        update(connection, &is.link)?;
        was.row
    } else {
        insert(connection, &is.link)?;
        connection.last_insert_rowid()
    };
    index(connection, row, was.as_ref().map(|was| &was.link), Some(&is.link))?;
    Ok(is)
}
