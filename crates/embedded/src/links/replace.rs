//! The newest `PUT` wins.

use lodge_domain::links::{Link, Replaced, State};
use rusqlite::Connection;

use super::{
    find::by_short,
    row::{index, insert, storable, update},
};
use crate::failure::Failure;

/// Puts `link` where its short leads, unless what is there is newer; answers with what is there then.
pub(crate) fn replace(connection: &Connection, link: Link) -> Result<Replaced, Failure> {
    let link = storable(link);
    let Some(was) = by_short(connection, &link.short)? else {
        insert(connection, &link)?;
        index(connection, connection.last_insert_rowid(), None, Some(&link))?;
        return Ok(Replaced { link, already: false });
    };
    let already = was.link.target == link.target
        && was.link.is_plain()
        && was.link.state(link.changed_at).0 == State::Live;
    // The same time on two machines: any order will do, as long as it is the same everywhere.
    if (was.link.changed_at, was.link.target.as_str()) > (link.changed_at, link.target.as_str()) {
        return Ok(Replaced { link: was.link, already });
    }
    let same = Link {
        id: was.link.id,
        created_at: was.link.created_at,
        version: was.link.version,
        ..link
    };
    if same == was.link {
        return Ok(Replaced { link: same, already });
    }
    let is = Link { version: same.version + 1, ..same };
    update(connection, &is)?;
    index(connection, was.row, Some(&was.link), Some(&is))?;
    Ok(Replaced { link: is, already })
}
