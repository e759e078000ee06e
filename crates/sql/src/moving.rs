//! Copies the accounts of one database to another, and compares the two.
//!
//! Rows are copied in the order of their keys, each page in one transaction. So the destination itself says how far an
//! interrupted copy came: what follows the last key of a table is missing.

use std::{collections::BTreeMap, sync::Arc};

use lodge_domain::{Error, Result};

use crate::{
    App, Database, Failure, FromValue, ReadKind, Row, Statement, Tx, Value,
    statement::{same, statements},
    tx::values,
};

/// Rows in one read, and in one transaction.
const PAGE: usize = 500;

const OTHER_ROWS: Error = Error::conflict(
    "the destination has rows that the source does not have; move into an empty database",
);

/// Called with the name of a table and the number of its rows that are copied or compared.
pub type Watch<'a> = &'a (dyn Fn(&'static str, u64) + Send + Sync);

/// The rows of a table, as a comparison found them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableComparison {
    /// The name of the table.
    pub table: &'static str,
    /// Its rows in the source.
    pub rows: u64,
    /// Rows that only one database has, or that differ.
    pub differences: u64,
}

/// Copies what the destination does not have yet. `last_account` is the last id of an account that was assigned.
///
/// # Errors
///
/// [`Error::Conflict`] if the destination has other rows. After any other error it can be run again.
pub async fn copy_accounts(
    from: &dyn Database,
    to: &dyn Database,
    last_account: i64,
    watch: Watch<'_>,
) -> Result<()> {
    for table in TABLES {
        table.copy(from, to, watch).await?;
    }
    to.write(App::Accounts, move |tx: &mut dyn Tx| assign_up_to(tx, last_account)).await
}

/// Compares every row.
pub async fn compare_accounts(
    from: &dyn Database,
    to: &dyn Database,
    watch: Watch<'_>,
) -> Result<Vec<TableComparison>> {
    let mut compared = Vec::new();
    for table in TABLES {
        compared.push(table.compare(from, to, watch).await?);
    }
    Ok(compared)
}

statements! {
    ASSIGN = same("INSERT INTO accounts (id, username, role, epoch, created_at) VALUES (?, '', 0, 0, 0)");
    UNASSIGN = same("DELETE FROM accounts WHERE id = ? AND username = ''");
}

/// Has the next account get an id after `last`, also if the last accounts were deleted.
fn assign_up_to(tx: &mut dyn Tx, last: i64) -> Result<(), Failure> {
    if last > 0 && tx.insert(&ASSIGN, values![last])?.is_some() {
        tx.execute(&UNASSIGN, values![last])?;
    }
    Ok(())
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Text,
    Bytes,
}

/// The value of a column. Databases order keys as this type does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

type Fields = Vec<Field>;

/// A table of accounts.
#[derive(Debug)]
struct Table {
    name: &'static str,
    /// The types of the columns; the first ones are the key.
    kinds: &'static [Kind],
    key: usize,
    /// Rows after a key, in order.
    page: Statement,
    /// The last key after a key.
    last: Statement,
    insert: Statement,
}

/// A table whose key is its first column, with the columns that every database has. Rows that are not those of accounts
/// are left out by a condition.
macro_rules! table {
    ($name:ident $(where $condition:literal)?: $key:ident $of_key:ident $(, $column:ident $kind:ident)+) => {
        Table {
            name: stringify!($name),
            kinds: &[Kind::$of_key $(, Kind::$kind)+],
            key: 1,
            page: same(concat!(
                "SELECT ", stringify!($key) $(, ", ", stringify!($column))+,
                " FROM ", stringify!($name),
                " WHERE ", stringify!($key), " > ?" $(, " AND ", $condition)?,
                " ORDER BY ", stringify!($key), " LIMIT ?"
            )),
            last: same(concat!(
                "SELECT ", stringify!($key), " FROM ", stringify!($name),
                " WHERE ", stringify!($key), " > ?" $(, " AND ", $condition)?,
                " ORDER BY ", stringify!($key), " DESC LIMIT 1"
            )),
            insert: same(concat!(
                "INSERT INTO ", stringify!($name), " (", stringify!($key)
                $(, ", ", stringify!($column))+,
                ") VALUES (?" $(, table!(@ $column))+, ")"
            )),
        }
    };
    (@ $column:ident) => { ", ?" };
}

/// Accounts first: what follows refers to them.
static TABLES: &[Table] = &[
    table!(accounts: id Int, username Text, nickname Text, email Text, role Int, password Text, reset Bytes,
        reset_until Int, epoch Int, created_at Int, banned_at Int, deleted_at Int, picture Bytes, skeleton Text),
    Table {
        name: "identities",
        kinds: &[Kind::Text, Kind::Text, Kind::Int, Kind::Int],
        key: 2,
        page: same(
            "SELECT issuer, subject, account, linked_at FROM identities \
             WHERE issuer >= ? AND (issuer > ? OR subject > ?) ORDER BY issuer, subject LIMIT ?",
        ),
        last: same(
            "SELECT issuer, subject FROM identities \
             WHERE issuer >= ? AND (issuer > ? OR subject > ?) ORDER BY issuer DESC, subject DESC LIMIT 1",
        ),
        insert: same(
            "INSERT INTO identities (issuer, subject, account, linked_at) VALUES (?, ?, ?, ?)",
        ),
    },
    table!(sessions: digest Bytes, id Bytes, account Int, epoch Int, created_at Int, expires_at Int, agent Text,
        authenticated_at Int),
    table!(tickets: row Int, digest Bytes, issuer Text, subject Text, expires_at Int),
    table!(account_events: row Int, account Int, at Int, kind Text, did Int),
    table!(security_events: id Bytes, at Int, last_at Int, repeats Int, kind Text, is_failure Int, actor Int,
        account Int, origin Text, detail Text),
    table!(outcomes where "app = 1": attempt Bytes, fingerprint Bytes, at Int, outcome Text, app Int),
];

impl Table {
    async fn copy(
        &'static self,
        from: &dyn Database,
        to: &dyn Database,
        watch: Watch<'_>,
    ) -> Result<()> {
        let last = to.read(App::Accounts, ReadKind::Scan, move |tx: &mut dyn Tx| self.last(tx));
        let mut after = last.await?.unwrap_or_else(|| self.before_all());
        let mut copied = 0;
        loop {
            let rows = Arc::new(self.after(from, after).await?);
            let Some(last) = rows.last() else { return Ok(()) };
            after = last[..self.key].to_vec();
            copied += rows.len() as u64;
            to.write(App::Accounts, move |tx: &mut dyn Tx| self.put(tx, &rows)).await?;
            watch(self.name, copied);
        }
    }

    async fn compare(
        &'static self,
        from: &dyn Database,
        to: &dyn Database,
        watch: Watch<'_>,
    ) -> Result<TableComparison> {
        let (mut rows, mut differences, mut after) = (0, 0, self.before_all());
        loop {
            let ours = self.after(from, after.clone()).await?;
            let theirs = self.after(to, after).await?;
            // A page that is not full ends the table, so the other one says how far this comparison goes.
            let ends = [&ours, &theirs].map(|page| page.get(PAGE - 1).map(|row| &row[..self.key]));
            let end = ends.into_iter().flatten().min().map(<[Field]>::to_vec);
            let upto = |page: Vec<Fields>| -> BTreeMap<Fields, Fields> {
                let keyed = page.into_iter().map(|row| (row[..self.key].to_vec(), row));
                keyed.filter(|(key, _)| end.as_ref().is_none_or(|end| key <= end)).collect()
            };
            let (ours, mut theirs) = (upto(ours), upto(theirs));
            rows += ours.len() as u64;
            for (key, row) in &ours {
                differences += u64::from(theirs.remove(key).as_ref() != Some(row));
            }
            differences += theirs.len() as u64;
            watch(self.name, rows);
            match end {
                Some(end) => after = end,
                None => return Ok(TableComparison { table: self.name, rows, differences }),
            }
        }
    }

    /// A key before all others.
    fn before_all(&self) -> Fields {
        let least = |kind: &Kind| match kind {
            Kind::Int => Field::Int(i64::MIN),
            Kind::Text => Field::Text(String::new()),
            Kind::Bytes => Field::Bytes(Vec::new()),
        };
        self.kinds[..self.key].iter().map(least).collect()
    }

    /// Returns the next page of rows after a key.
    async fn after(&'static self, database: &dyn Database, key: Fields) -> Result<Vec<Fields>> {
        let page = move |tx: &mut dyn Tx| {
            let values = [&parameters(&key)[..], values![PAGE]].concat();
            tx.all(&self.page, &values, |row| self.read(row, self.kinds.len()))
        };
        database.read(App::Accounts, ReadKind::Scan, page).await
    }

    fn last(&self, tx: &mut dyn Tx) -> Result<Option<Fields>, Failure> {
        tx.one(&self.last, &parameters(&self.before_all()), |row| self.read(row, self.key))
    }

    fn put(&self, tx: &mut dyn Tx, rows: &[Fields]) -> Result<(), Failure> {
        for row in rows {
            let values: Vec<Value<'_>> = row.iter().map(Field::value).collect();
            if tx.insert(&self.insert, &values)?.is_none() {
                return Err(OTHER_ROWS.into());
            }
        }
        Ok(())
    }

    fn read(&self, row: Row<'_>, columns: usize) -> Result<Fields, Failure> {
        let columns = self.kinds[..columns].iter().enumerate();
        columns.map(|(column, kind)| Field::read(row, column, *kind)).collect()
    }
}

/// The parameters of a condition on what follows a key; of two columns, the first one is compared twice.
fn parameters(key: &[Field]) -> Vec<Value<'_>> {
    let twice = if key.len() > 1 { &key[..1] } else { &[] };
    twice.iter().chain(key).map(Field::value).collect()
}

impl Field {
    fn read(row: Row<'_>, column: usize, kind: Kind) -> Result<Self, Failure> {
        fn get<T: FromValue>(
            row: Row<'_>,
            column: usize,
            of: fn(T) -> Field,
        ) -> Result<Field, Failure> {
            Ok(row.get::<Option<T>>(column)?.map_or(Field::Null, of))
        }
        match kind {
            Kind::Int => get(row, column, Self::Int),
            Kind::Text => get(row, column, Self::Text),
            Kind::Bytes => get(row, column, Self::Bytes),
        }
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// Returns every statement of this module.
pub(crate) fn statements() -> impl Iterator<Item = &'static Statement> {
    let of_tables = TABLES.iter().flat_map(|table| [&table.page, &table.last, &table.insert]);
    of_tables.chain(STATEMENTS.iter().copied())
}
