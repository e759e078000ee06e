//! Implements [`Tx`], the transaction of the shared SQL stores, for a connection.

use lodge_sql::{Columns, Failure as SqlFailure, Row, Statement, Tx, Value};
use rusqlite::{
    CachedStatement, Connection, ToSql, ffi, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};

use crate::failure::from_sqlite;

/// The current transaction of a connection.
pub(crate) struct SqliteTx<'c>(pub(crate) &'c Connection);

impl SqliteTx<'_> {
    fn prepare(&self, statement: &Statement) -> Result<CachedStatement<'_>, SqlFailure> {
        self.0.prepare_cached(statement.sqlite).map_err(failure)
    }
}

impl Tx for SqliteTx<'_> {
    fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, SqlFailure> {
        let changed = self.prepare(statement)?.execute(parameters(values)).map_err(failure)?;
        Ok(changed as u64)
    }

    fn insert(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<i64>, SqlFailure> {
        match self.prepare(statement)?.execute(parameters(values)) {
            Ok(_) => Ok(Some(self.0.last_insert_rowid())),
            Err(error) if is_taken(&error) => Ok(None),
            Err(error) => Err(failure(error)),
        }
    }

    fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(Row<'_>) -> Result<(), SqlFailure>,
    ) -> Result<(), SqlFailure> {
        let mut statement = self.prepare(statement)?;
        let mut rows = statement.query(parameters(values)).map_err(failure)?;
        while let Some(found) = rows.next().map_err(failure)? {
            row(Row(&SqliteRow(found)))?;
        }
        Ok(())
    }

    /// Does nothing, because only one thread writes.
    fn guard(&mut self, _: &'static str, _: i64) -> Result<(), SqlFailure> {
        Ok(())
    }
}

fn parameters<'v>(values: &'v [Value<'v>]) -> impl rusqlite::Params + 'v {
    params_from_iter(values.iter().map(Parameter))
}

/// Whether a unique key was taken. The statement has then changed nothing, and its transaction stays open.
fn is_taken(error: &rusqlite::Error) -> bool {
    let taken = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];
    error.sqlite_error().is_some_and(|error| taken.contains(&error.extended_code))
}

fn failure(error: rusqlite::Error) -> SqlFailure {
    SqlFailure::Error(from_sqlite(error))
}

struct Parameter<'v>(&'v Value<'v>);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

pub(crate) struct SqliteRow<'r>(pub(crate) &'r rusqlite::Row<'r>);

impl Columns for SqliteRow<'_> {
    fn value(&self, column: usize) -> Result<Value<'_>, SqlFailure> {
        Ok(match self.0.get_ref(column).map_err(failure)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Text(text) => {
                Value::Text(std::str::from_utf8(text).map_err(lodge_domain::Error::internal)?)
            }
            ValueRef::Blob(bytes) => Value::Bytes(bytes),
            ValueRef::Real(_) => {
                return Err(
                    lodge_domain::Error::internal("a column has a floating-point value").into()
                );
            }
        })
    }
}
