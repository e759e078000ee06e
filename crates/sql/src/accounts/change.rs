//! Creates, changes and deletes accounts.

use lodge_domain::accounts::{
    Account, AccountChange, AccountEvent, AccountEventKind, AccountId, Actor, Email, EndSessions,
    NewAccount, PictureId, Role,
};

use super::{
    events,
    find::get,
    has_admin,
    row::{self, role_number, stored_nickname},
    sessions,
};
use crate::{
    Failure, Tx, Value,
    statement::{for_update, same, statements},
    tx::values,
};

statements! {
    ADD = same("INSERT INTO accounts (username, skeleton, nickname, email, role, password, epoch, created_at) \
        VALUES (?, ?, ?, ?, ?, ?, 1, ?)");
    /// Locks the account's row: the first statement of every change of an account or of rows that belong to it.
    LOCK_ACCOUNT = for_update!("SELECT epoch, picture, role FROM accounts WHERE id = ? AND deleted_at IS NULL");
    STAFF_ROLE = same("SELECT role FROM accounts WHERE id = ? AND deleted_at IS NULL AND banned_at IS NULL");
    SET_NICKNAME = same("UPDATE accounts SET nickname = nullif(?, username) WHERE id = ?");
    SET_EMAIL = same("UPDATE accounts SET email = ? WHERE id = ?");
    SET_ROLE = same("UPDATE accounts SET role = ? WHERE id = ?");
    SET_BANNED = same("UPDATE accounts SET banned_at = ? WHERE id = ?");
    SET_PASSWORD = same("UPDATE accounts SET password = ? WHERE id = ?");
    SET_RESET = same("UPDATE accounts SET reset = ?, reset_until = ? WHERE id = ?");
    SET_PICTURE = same("UPDATE accounts SET picture = ? WHERE id = ?");
    SET_EPOCH = same("UPDATE accounts SET epoch = ? WHERE id = ?");
    END_SESSIONS = same("DELETE FROM sessions WHERE account = ? AND id <> ?");
    KEEP_SESSION = same("UPDATE sessions SET epoch = ? WHERE account = ? AND id = ? AND epoch = ?");
    UNLINK_ALL = same("DELETE FROM identities WHERE account = ?");
    /// The row of a deleted account stays, so that its name remains reserved.
    MARK_DELETED = same("UPDATE accounts SET nickname = NULL, email = NULL, role = 0, password = NULL, reset = NULL, \
        reset_until = NULL, epoch = epoch + 1, banned_at = NULL, picture = NULL, deleted_at = ? \
        WHERE id = ? AND deleted_at IS NULL");
}

const NO_SESSION: [u8; 16] = [0; 16];

/// Creates an account; `None` if its name or a look-alike is taken.
pub(super) fn add(tx: &mut dyn Tx, new: &NewAccount) -> Result<Option<Account>, Failure> {
    let Some(id) = insert(tx, new)? else { return Ok(None) };
    events::record_by_owner(tx, id, AccountEventKind::SignedUp, new.created_at)?;
    get(tx, id)
}

/// Inserts the row; `None` if the name or a look-alike is taken.
pub(super) fn insert(tx: &mut dyn Tx, new: &NewAccount) -> Result<Option<AccountId>, Failure> {
    let NewAccount { username, nickname, email, role, password, created_at } = new;
    let skeleton = username.skeleton();
    let values = values![
        username.as_str(),
        skeleton.as_str(),
        stored_nickname(nickname, username),
        email.as_ref().map(Email::as_str),
        role_number(*role),
        password.as_ref().map(|hash| hash.0.as_str()),
        *created_at,
    ];
    Ok(tx.insert(&ADD, values)?.map(AccountId))
}

/// Changes an account, ends its sessions, and records the event. `None` if a precondition of the change fails.
pub(super) fn change(
    tx: &mut dyn Tx,
    change: &AccountChange,
    event: &AccountEvent,
) -> Result<Option<Account>, Failure> {
    let id = event.account;
    let Some(standing) = lock_account(tx, id)? else { return Ok(None) };
    if !standing.allows(change) {
        return Ok(None);
    }
    if let Some(session) = change.by_session
        && !sessions::is_live(tx, id, session, event.at)?
    {
        return Ok(None);
    }
    if let Some(role) = change.staff_role
        && !is_staff(tx, event.by, role)?
    {
        return Ok(None);
    }
    if change.without_admin {
        tx.guard("first admin", 0)?;
        if has_admin(tx)? {
            return Ok(None);
        }
    }
    set(tx, id, change)?;
    if change.unlinks_all {
        tx.execute(&UNLINK_ALL, values![id.0])?;
    }
    if let Some(ending) = change.ending {
        end(tx, id, ending, standing.epoch)?;
    }
    events::record(tx, event)?;
    get(tx, id)
}

/// Whether the staff member has this role. Of two who take each other's role at once, the later one has it no more.
fn is_staff(tx: &mut dyn Tx, by: Actor, role: Role) -> Result<bool, Failure> {
    let Actor::Staff(id) = by else { return Ok(false) };
    tx.guard("staff", 0)?;
    let has = tx.one(&STAFF_ROLE, values![id.0], |row| row::role(row.get(0)?))?;
    Ok(has == Some(role))
}

/// Updates the columns that a change names.
fn set(tx: &mut dyn Tx, id: AccountId, change: &AccountChange) -> Result<(), Failure> {
    let AccountChange { nickname, email, role, banned_at, password, reset, picture, .. } = change;
    let mut set = |statement, value: Value<'_>| tx.execute(statement, &[value, id.0.into()]);
    if let Some(nickname) = nickname {
        set(&SET_NICKNAME, nickname.as_str().into())?;
    }
    if let Some(email) = email {
        set(&SET_EMAIL, email.as_ref().map(Email::as_str).into())?;
    }
    if let Some(role) = role {
        set(&SET_ROLE, role_number(*role).into())?;
    }
    if let Some(banned_at) = banned_at {
        set(&SET_BANNED, (*banned_at).into())?;
    }
    if let Some(hash) = password {
        set(&SET_PASSWORD, hash.0.as_str().into())?;
    }
    if let Some(picture) = picture {
        set(&SET_PICTURE, picture.as_ref().map(PictureId::bytes).into())?;
    }
    if let Some(reset) = reset {
        let (digest, until) = reset.as_ref().map(|reset| (&reset.digest, reset.expires_at)).unzip();
        tx.execute(&SET_RESET, values![digest, until, id.0])?;
    }
    Ok(())
}

/// Begins a new epoch, in which only the session excepted by `ending` stays valid.
pub(super) fn end(
    tx: &mut dyn Tx,
    id: AccountId,
    ending: EndSessions,
    epoch: u32,
) -> Result<(), Failure> {
    let kept = match ending {
        EndSessions::All => NO_SESSION,
        EndSessions::AllBut(session) => *session.0.as_bytes(),
    };
    tx.execute(&SET_EPOCH, values![epoch + 1, id.0])?;
    tx.execute(&KEEP_SESSION, values![epoch + 1, id.0, &kept, epoch])?;
    tx.execute(&END_SESSIONS, values![id.0, &kept]).map(drop)
}

/// Deletes an account; its name stays reserved for [`super::NAME_RESERVED`].
pub(super) fn remove(tx: &mut dyn Tx, event: &AccountEvent) -> Result<Option<Account>, Failure> {
    let id = event.account;
    if lock_account(tx, id)?.is_none() {
        return Ok(None);
    }
    let account = get(tx, id)?;
    tx.execute(&MARK_DELETED, values![event.at, id.0])?;
    tx.execute(&END_SESSIONS, values![id.0, &NO_SESSION])?;
    tx.execute(&UNLINK_ALL, values![id.0])?;
    events::record(tx, event)?;
    Ok(account)
}

/// The columns on which the preconditions of a change depend.
pub(super) struct LockedAccount {
    epoch: u32,
    picture: Option<PictureId>,
    role: Role,
}

impl LockedAccount {
    fn allows(&self, change: &AccountChange) -> bool {
        change.at_epoch.is_none_or(|expected| expected == self.epoch)
            && change.had_picture.is_none_or(|expected| expected == self.picture)
            && change.had_role.is_none_or(|expected| expected == self.role)
    }
}

/// Reads the preconditions of a change and locks the account until the commit against other changes of it and of
/// rows that belong to it. `None` if there is no such account.
pub(super) fn lock_account(
    tx: &mut dyn Tx,
    id: AccountId,
) -> Result<Option<LockedAccount>, Failure> {
    tx.guard("account", id.0)?;
    tx.one(&LOCK_ACCOUNT, values![id.0], |row| {
        Ok(LockedAccount {
            epoch: row.get(0)?,
            picture: row.get::<Option<[u8; 32]>>(1)?.map(PictureId::stored),
            role: row::role(row.get(2)?)?,
        })
    })
}
