//! An account as a row of the table `accounts`.

use jiff::Timestamp;
use lodge_domain::{
    accounts::{Account, AccountId, Credential, Email, Nickname, PictureId, Reset, Role, Username},
    passwords::PasswordHash,
};
use rusqlite::{Result, Row};

/// The columns that [`read`] takes, in its order.
pub(crate) const COLUMNS: &str = "a.id, a.username, a.nickname, a.email, a.role, a.password IS NOT NULL, \
    a.epoch, a.created_at, a.banned_at, a.picture";

/// How many they are.
pub(crate) const COUNT: usize = 10;

/// Reads [`COLUMNS`], the first of which is at `first`.
pub(crate) fn read(row: &Row<'_>, first: usize) -> Result<Account> {
    let username = Username::stored(row.get(first + 1)?);
    let nickname = row.get::<_, Option<String>>(first + 2)?.map(Nickname::stored);
    Ok(Account {
        id: AccountId(row.get(first)?),
        nickname: nickname.unwrap_or_else(|| Nickname::from(&username)),
        username,
        email: row.get::<_, Option<String>>(first + 3)?.map(Email::stored),
        role: role(first + 4, row.get(first + 4)?)?,
        has_password: row.get(first + 5)?,
        epoch: row.get(first + 6)?,
        created_at: instant(first + 7, row.get(first + 7)?)?,
        banned_at: row
            .get::<_, Option<i64>>(first + 8)?
            .map(|at| instant(first + 8, at))
            .transpose()?,
        picture: row.get::<_, Option<[u8; 32]>>(first + 9)?.map(PictureId::stored),
    })
}

/// What proves whose an account is, in the columns after [`COLUMNS`].
pub(crate) const CREDENTIAL: &str = "a.password, a.reset, a.reset_until";

/// Reads [`COLUMNS`] and [`CREDENTIAL`].
pub(crate) fn read_with_credential(row: &Row<'_>) -> Result<(Account, Credential)> {
    let digest: Option<[u8; 32]> = row.get(COUNT + 1)?;
    let until: Option<i64> = row.get(COUNT + 2)?;
    let reset = digest.zip(until).map(|(digest, until)| {
        Ok::<_, rusqlite::Error>(Reset { digest, expires_at: instant(COUNT + 2, until)? })
    });
    let password = row.get::<_, Option<String>>(COUNT)?.map(PasswordHash);
    Ok((read(row, 0)?, Credential { password, reset: reset.transpose()? }))
}

/// A role's number in the column.
pub(crate) fn role_number(role: Role) -> u8 {
    match role {
        Role::Member => 0,
        Role::Moderator => 1,
        Role::Admin => 2,
    }
}

/// The role of that number, read from the column at `index`.
pub(crate) fn role(index: usize, number: i64) -> Result<Role> {
    Role::ALL
        .into_iter()
        .find(|role| i64::from(role_number(*role)) == number)
        .ok_or(rusqlite::Error::IntegralValueOutOfRange(index, number))
}

/// A time in milliseconds, read from the column at `index`.
pub(crate) fn instant(index: usize, at: i64) -> Result<Timestamp> {
    Timestamp::from_millisecond(at).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(index, at))
}

/// What is kept of a nickname: nothing, if it is the name.
pub(crate) fn kept_nickname<'a>(nickname: &'a Nickname, username: &Username) -> Option<&'a str> {
    Some(nickname.as_str()).filter(|nickname| *nickname != username.as_str())
}
