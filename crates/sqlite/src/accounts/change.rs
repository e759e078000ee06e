//! Making, changing and deleting accounts.

use jiff::Timestamp;
use lodge_domain::accounts::{
    Account, AccountChange, AccountId, Email, Ending, Event, EventKind, NewAccount, PictureId, Role,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    events, get,
    row::{self, kept_nickname, role_number},
    sessions,
};
use crate::failure::Failure;

const ADD: &str = "INSERT INTO accounts (username, nickname, email, role, password, epoch, created_at) \
    VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6) ON CONFLICT (username) DO NOTHING";
const STANDING: &str =
    "SELECT epoch, picture, role FROM accounts WHERE id = ?1 AND deleted_at IS NULL";
const SET_NICKNAME: &str = "UPDATE accounts SET nickname = nullif(?2, username) WHERE id = ?1";
const SET_EMAIL: &str = "UPDATE accounts SET email = ?2 WHERE id = ?1";
const SET_ROLE: &str = "UPDATE accounts SET role = ?2 WHERE id = ?1";
const SET_BANNED: &str = "UPDATE accounts SET banned_at = ?2 WHERE id = ?1";
const SET_PASSWORD: &str = "UPDATE accounts SET password = ?2 WHERE id = ?1";
const SET_RESET: &str = "UPDATE accounts SET reset = ?2, reset_until = ?3 WHERE id = ?1";
const SET_PICTURE: &str = "UPDATE accounts SET picture = ?2 WHERE id = ?1";
const SET_EPOCH: &str = "UPDATE accounts SET epoch = ?2 WHERE id = ?1";
const END_SESSIONS: &str = "DELETE FROM sessions WHERE account = ?1 AND id <> ?2";
const KEEP_SESSION: &str =
    "UPDATE sessions SET epoch = ?3 WHERE account = ?1 AND id = ?2 AND epoch = ?4";
const UNLINK_ALL: &str = "DELETE FROM identities WHERE account = ?1";
/// What is left of a deleted account keeps its name from others.
const BURY: &str = "UPDATE accounts SET nickname = NULL, email = NULL, role = 0, password = NULL, \
    reset = NULL, reset_until = NULL, epoch = epoch + 1, banned_at = NULL, picture = NULL, deleted_at = ?2 WHERE id = ?1 AND deleted_at IS NULL";
const NO_SESSION: [u8; 16] = [0; 16];

/// Every statement of the changes.
#[cfg(test)]
pub(crate) const STATEMENTS: [&str; 14] = [
    ADD,
    STANDING,
    SET_NICKNAME,
    SET_EMAIL,
    SET_ROLE,
    SET_BANNED,
    SET_PASSWORD,
    SET_RESET,
    SET_PICTURE,
    SET_EPOCH,
    END_SESSIONS,
    KEEP_SESSION,
    UNLINK_ALL,
    BURY,
];

/// Makes an account, if its name is free.
pub(crate) fn add(connection: &Connection, new: &NewAccount) -> Result<Option<Account>, Failure> {
    if !insert(connection, new)? {
        return Ok(None);
    }
    let id = AccountId(connection.last_insert_rowid());
    events::note_own(connection, id, EventKind::SignedUp, new.created_at)?;
    get(connection, id)
}

/// Adds the row; false if its name is taken.
pub(crate) fn insert(connection: &Connection, new: &NewAccount) -> rusqlite::Result<bool> {
    let NewAccount { username, nickname, email, role, password, created_at } = new;
    let added = connection.prepare_cached(ADD)?.execute((
        username.as_str(),
        kept_nickname(nickname, username),
        email.as_ref().map(Email::as_str),
        role_number(*role),
        password.as_ref().map(|hash| hash.0.as_str()),
        created_at.as_millisecond(),
    ))?;
    Ok(added > 0)
}

/// Changes an account, ends its sessions, and notes what happened.
pub(crate) fn change(
    connection: &Connection,
    change: &AccountChange,
    event: &Event,
) -> Result<Option<Account>, Failure> {
    let id = event.account;
    let Some(Standing { epoch, picture: former, role: held }) = standing(connection, id)? else {
        return Ok(None);
    };
    let AccountChange {
        nickname,
        email,
        role,
        banned_at,
        password,
        reset,
        ending,
        unlinks_all,
        at_epoch,
        by_session,
        picture,
        had_picture,
        had_role,
    } = change;
    if at_epoch.is_some_and(|expected| expected != epoch)
        || had_picture.is_some_and(|expected| expected != former)
        || had_role.is_some_and(|expected| expected != held)
    {
        return Ok(None);
    }
    if let Some(session) = by_session
        && !sessions::is_live(connection, id, *session, event.at)?
    {
        return Ok(None);
    }
    if let Some(nickname) = nickname {
        connection.prepare_cached(SET_NICKNAME)?.execute((id.0, nickname.as_str()))?;
    }
    if let Some(email) = email {
        let email = email.as_ref().map(Email::as_str);
        connection.prepare_cached(SET_EMAIL)?.execute((id.0, email))?;
    }
    if let Some(role) = role {
        connection.prepare_cached(SET_ROLE)?.execute((id.0, role_number(*role)))?;
    }
    if let Some(banned_at) = banned_at {
        let at = banned_at.map(Timestamp::as_millisecond);
        connection.prepare_cached(SET_BANNED)?.execute((id.0, at))?;
    }
    if let Some(hash) = password {
        connection.prepare_cached(SET_PASSWORD)?.execute((id.0, hash.0.as_str()))?;
    }
    if let Some(reset) = reset {
        let (digest, until) =
            reset.as_ref().map(|reset| (reset.digest, reset.expires_at.as_millisecond())).unzip();
        connection.prepare_cached(SET_RESET)?.execute((id.0, digest, until))?;
    }
    if let Some(picture) = picture {
        let bytes = picture.as_ref().map(PictureId::bytes);
        connection.prepare_cached(SET_PICTURE)?.execute((id.0, bytes))?;
    }
    if *unlinks_all {
        connection.prepare_cached(UNLINK_ALL)?.execute([id.0])?;
    }
    if let Some(ending) = ending {
        end(connection, id, *ending, epoch)?;
    }
    events::note(connection, event)?;
    get(connection, id)
}

/// Begins a new epoch, in which only the session that is to stay opens anything.
pub(super) fn end(
    connection: &Connection,
    id: AccountId,
    ending: Ending,
    epoch: u32,
) -> rusqlite::Result<()> {
    let kept = match ending {
        Ending::All => NO_SESSION,
        Ending::AllBut(session) => *session.0.as_bytes(),
    };
    connection.prepare_cached(SET_EPOCH)?.execute((id.0, epoch + 1))?;
    connection.prepare_cached(KEEP_SESSION)?.execute((id.0, kept, epoch + 1, epoch))?;
    connection.prepare_cached(END_SESSIONS)?.execute((id.0, kept)).map(drop)
}

/// Deletes an account; its name stays for a while.
pub(crate) fn remove(connection: &Connection, event: &Event) -> Result<Option<Account>, Failure> {
    let (id, at) = (event.account.0, event.at.as_millisecond());
    let Some(account) = get(connection, event.account)? else { return Ok(None) };
    connection.prepare_cached(BURY)?.execute((id, at))?;
    connection.prepare_cached(END_SESSIONS)?.execute((id, NO_SESSION))?;
    connection.prepare_cached(UNLINK_ALL)?.execute([event.account.0])?;
    events::note(connection, event)?;
    Ok(Some(account))
}

/// What a change of an account may rest on.
struct Standing {
    epoch: u32,
    picture: Option<PictureId>,
    role: Role,
}

fn standing(connection: &Connection, id: AccountId) -> rusqlite::Result<Option<Standing>> {
    let read = |row: &Row<'_>| {
        let picture: Option<[u8; 32]> = row.get(1)?;
        Ok(Standing {
            epoch: row.get(0)?,
            picture: picture.map(PictureId::stored),
            role: row::role(2, row.get(2)?)?,
        })
    };
    connection.prepare_cached(STANDING)?.query_row([id.0], read).optional()
}
