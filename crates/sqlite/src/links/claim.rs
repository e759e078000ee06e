//! Claims shorts for new links.

use jiff::SignedDuration;
use lodge_domain::{
    Error,
    links::{Candidate, Claim, Link, Refusal},
};
use rusqlite::Connection;

use super::{
    find::by_short,
    row::{DELETE, Stored, index, insert},
};
use crate::{failure::Failure, query};

/// Statements that delete the clicks of a link.
pub(crate) const DELETE_CLICKS: [&str; 3] = [
    "DELETE FROM clicks_hour WHERE link = ?1",
    "DELETE FROM clicks_day WHERE link = ?1",
    "DELETE FROM referrers WHERE link = ?1",
];

/// Claims a short for each candidate.
pub(crate) fn claim_all(
    connection: &Connection,
    candidates: Vec<Result<Candidate, Refusal>>,
    reserved: SignedDuration,
) -> Result<Vec<Claim>, Failure> {
    let claim = |candidate| match candidate {
        Ok(candidate) => claim(connection, candidate, reserved),
        Err(refusal) => Ok(Claim::Refused(refusal)),
    };
    candidates.into_iter().map(claim).collect()
}

fn claim(
    connection: &Connection,
    candidate: Candidate,
    reserved: SignedDuration,
) -> Result<Claim, Failure> {
    let mut link = candidate.link.storable();
    let Some(holder) = claim_short(connection, &link, reserved)? else {
        return Ok(Claim::Created(link));
    };
    for spare in candidate.spares {
        link.short = spare;
        if claim_short(connection, &link, reserved)?.is_none() {
            return Ok(Claim::Created(link));
        }
    }
    Ok(Claim::Exists(holder))
}

/// Inserts `link` if its short is free; otherwise returns the link that has the short.
fn claim_short(
    connection: &Connection,
    link: &Link,
    reserved: SignedDuration,
) -> Result<Option<Link>, Failure> {
    // The short is usually free, so insert before looking it up.
    if !insert(connection, link)? {
        let holder = by_short(connection, &link.short)?.ok_or_else(|| {
            Error::internal("the insert of a link conflicts with a short that was not found")
        })?;
        if !holder.link.is_reservation_over(link.created_at, reserved) {
            return Ok(Some(holder.link));
        }
        delete(connection, &holder)?;
        insert(connection, link)?;
    }
    index(connection, connection.last_insert_rowid(), None, Some(link))?;
    Ok(None)
}

/// Deletes a link, its clicks, and its rows in the indexes of lists and search.
pub(crate) fn delete(connection: &Connection, stored: &Stored) -> Result<(), Failure> {
    index(connection, stored.row, Some(&stored.link), None)?;
    query::run(connection, DELETE, [stored.row])?;
    for sql in DELETE_CLICKS {
        query::run(connection, sql, [stored.link.id.0.as_bytes()])?;
    }
    Ok(())
}
