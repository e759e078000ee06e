//! An account as a row of the table `accounts`.

use lodge_domain::{
    Error,
    accounts::{Account, AccountId, Credential, Email, Nickname, PictureId, Reset, Role, Username},
    passwords::PasswordHash,
};

use crate::{Failure, Row};

/// The columns that [`read`] reads, in order.
macro_rules! columns {
    () => {
        "a.id, a.username, a.nickname, a.email, a.role, a.password IS NOT NULL, \
         a.epoch, a.created_at, a.banned_at, a.picture"
    };
}

/// The credentials of an account, in the columns after [`columns`].
macro_rules! credential {
    () => {
        "a.password, a.reset, a.reset_until"
    };
}
pub(super) use {columns, credential};

/// The number of [`columns`].
const COUNT: usize = 10;

/// Reads [`columns`], the first of which is at `first`.
pub(super) fn read(row: Row<'_>, first: usize) -> Result<Account, Failure> {
    let username = Username::stored(row.get(first + 1)?);
    let nickname = row.get::<Option<String>>(first + 2)?.map(Nickname::stored);
    Ok(Account {
        id: AccountId(row.get(first)?),
        nickname: nickname.unwrap_or_else(|| Nickname::from(&username)),
        username,
        email: row.get::<Option<String>>(first + 3)?.map(Email::stored),
        role: role(row.get(first + 4)?)?,
        has_password: row.get(first + 5)?,
        epoch: row.get(first + 6)?,
        created_at: row.get(first + 7)?,
        banned_at: row.get(first + 8)?,
        picture: row.get::<Option<[u8; 32]>>(first + 9)?.map(PictureId::stored),
    })
}

/// Reads [`columns`] and [`credential`].
pub(super) fn read_with_credential(row: Row<'_>) -> Result<(Account, Credential), Failure> {
    let digest: Option<[u8; 32]> = row.get(COUNT + 1)?;
    let reset = digest.zip(row.get(COUNT + 2)?);
    let reset = reset.map(|(digest, expires_at)| Reset { digest, expires_at });
    let password = row.get::<Option<String>>(COUNT)?.map(PasswordHash);
    Ok((read(row, 0)?, Credential { password, reset }))
}

/// Returns the number that stores a role.
pub fn role_number(role: Role) -> u8 {
    match role {
        Role::Member => 0,
        Role::Moderator => 1,
        Role::Admin => 2,
    }
}

/// Returns the role that a number stores.
///
/// # Errors
///
/// [`Error::Internal`] if no role has the number.
pub fn role(number: i64) -> Result<Role, Failure> {
    let of_number = |role: &Role| i64::from(role_number(*role)) == number;
    let role = Role::ALL.into_iter().find(of_number);
    role.ok_or_else(|| Error::internal(format!("unknown role number {number}")).into())
}

/// The nickname to store: `None` if it equals the username.
pub(super) fn stored_nickname<'a>(nickname: &'a Nickname, username: &Username) -> Option<&'a str> {
    Some(nickname.as_str()).filter(|nickname| *nickname != username.as_str())
}
