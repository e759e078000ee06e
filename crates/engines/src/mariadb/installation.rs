//! What identifies an installation: its secret, the id of its accounts, and the id of their change feed.

use lodge_domain::{
    Error, OsRandom, Random as _, links::moving::BELONGS_TO_ANOTHER, secret::InstallationSecret,
};
use lodge_sql::{Failure, FromValue, Statement, Tx, Value};
use uuid::Uuid;

const ADD: Statement = Statement::mariadb("INSERT INTO meta (name, value) VALUES (?, ?)");
const GET: Statement = Statement::mariadb("SELECT value FROM meta WHERE name = ?");
const REPLACE: Statement = Statement::mariadb("UPDATE meta SET value = ? WHERE name = 'secret'");
const END_MOVE: Statement = Statement::mariadb("UPDATE meta SET value = ? WHERE name = 'move'");

/// The values of one database, each drawn at random on first use.
pub(super) struct Installation {
    pub(super) secret: InstallationSecret,
    /// The id of the accounts, by which links elsewhere are bound to them.
    pub(super) accounts_id: [u8; 32],
    /// The id of the accounts' change feed.
    pub(super) feed: Uuid,
}

/// How far a move of accounts into the database is; there is no row if the accounts began here.
const MOVE: &str = "move";
const COPYING: &[u8] = b"copying";
const COPIED: &[u8] = b"copied";

const IN_USE: Error =
    Error::conflict("the destination already contains accounts; move into an empty database");
const UNFINISHED: Error = Error::conflict(
    "a move of accounts into this database is not finished; run lodge move again before a server",
);

/// What accounts bring along when they are moved here.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The installation's secret.
    pub secret: InstallationSecret,
    /// The id of the accounts, by which links elsewhere are bound to them.
    pub accounts_id: [u8; 32],
}

/// Reserves an empty database for a move of these accounts. Returns whether an earlier run has copied them all.
pub(super) fn begin_move(tx: &mut dyn Tx, identity: &Identity) -> Result<bool, Failure> {
    let Identity { secret, accounts_id } = identity;
    let kept: Option<[u8; 32]> = get(tx, "secret")?;
    if kept.is_some_and(|kept| kept != *secret.reveal()) {
        return Err(Error::conflict(BELONGS_TO_ANOTHER).into());
    }
    match get::<Vec<u8>>(tx, MOVE)? {
        Some(state) => return Ok(state == COPIED),
        None if kept.is_some() => return Err(IN_USE.into()),
        None => {}
    }
    get_or_add::<[u8; 32]>(tx, "secret", secret.reveal())?;
    get_or_add::<[u8; 32]>(tx, "accounts_id", accounts_id)?;
    get_or_add::<Vec<u8>>(tx, MOVE, COPYING)?;
    Ok(false)
}

/// Records that all accounts are copied, so that servers may use them.
pub(super) fn end_move(tx: &mut dyn Tx) -> Result<(), Failure> {
    tx.execute(&END_MOVE, &[Value::Bytes(COPIED)]).map(drop)
}

impl Installation {
    /// Reads the values; adds those that are missing.
    pub(super) fn open(tx: &mut dyn Tx) -> Result<Self, Failure> {
        if get::<Vec<u8>>(tx, MOVE)?.is_some_and(|state| state == COPYING) {
            return Err(UNFINISHED.into());
        }
        Ok(Self {
            secret: InstallationSecret::new(get_or_add(tx, "secret", &random())?),
            accounts_id: get_or_add(tx, "accounts_id", &random())?,
            feed: get_or_add(tx, "accounts_feed", Uuid::new_v4().as_bytes())?,
        })
    }
}

/// Replaces the secret.
pub(super) fn replace_secret(tx: &mut dyn Tx) -> Result<(), Failure> {
    tx.execute(&REPLACE, &[Value::Bytes(&random())]).map(drop)
}

fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    OsRandom.fill(&mut bytes);
    bytes
}

fn get_or_add<T: FromValue>(tx: &mut dyn Tx, name: &str, value: &[u8]) -> Result<T, Failure> {
    tx.insert(&ADD, &[Value::Text(name), Value::Bytes(value)])?;
    let kept = get(tx, name)?;
    kept.ok_or_else(|| Error::internal(format!("table meta has no {name}")).into())
}

fn get<T: FromValue>(tx: &mut dyn Tx, name: &str) -> Result<Option<T>, Failure> {
    tx.one(&GET, &[Value::Text(name)], |row| row.get(0))
}
