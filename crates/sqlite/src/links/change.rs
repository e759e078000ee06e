//! Changes of a link, and clicks on links with a click limit.

use jiff::Timestamp;
use lodge_domain::links::{Link, LinkId, Short, TakenClick};
use rusqlite::Connection;

use super::{
    find::by_short,
    row::{index, update},
};
use crate::{failure::Failure, query};

pub(crate) const TAKE_CLICK: &str = "UPDATE links SET clicks_used = clicks_used + 1, \
    exhausted_at = CASE WHEN clicks_used + 1 >= clicks_max THEN ?3 END \
    WHERE short = ?1 AND id = ?2 AND clicks_used < clicks_max AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)";

/// Stores the next version of a link; `None` if the stored version is not its predecessor.
pub(crate) fn change(connection: &Connection, link: Link) -> Result<Option<Link>, Failure> {
    let Some(was) = by_short(connection, &link.short)? else { return Ok(None) };
    let Some(is) = link.following(&was.link) else { return Ok(None) };
    update(connection, &is)?;
    index(connection, was.row, Some(&was.link), Some(&is))?;
    Ok(Some(is))
}

/// Counts one click on a link with a click limit, if the limit allows it.
pub(crate) fn take_click(
    connection: &Connection,
    short: &Short,
    id: LinkId,
    at: Timestamp,
) -> Result<TakenClick, Failure> {
    let values = (short.as_str(), id.0.as_bytes(), at.as_millisecond());
    let taken = query::run(connection, TAKE_CLICK, values)?;
    Ok(if taken > 0 { TakenClick::Yes } else { TakenClick::No })
}
