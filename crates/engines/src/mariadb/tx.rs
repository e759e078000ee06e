//! [`Tx`] on one connection of the driver.

use lodge_domain::Error;
use lodge_sql::{Columns, Failure, Row, Statement, Tx, Value};
use mysql::{
    Params,
    prelude::{FromRow, Queryable as _},
};

use super::failure::{failure, is_broken, is_duplicate, is_lost};

/// A guard row is changed, not only locked: if several nodes accept writes, a lock is local to its node.
const GUARD: &str =
    "INSERT INTO guards (rule, id, uses) VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE uses = uses + 1";

/// An open connection.
pub(super) struct MysqlTx {
    connection: mysql::Conn,
    state: State,
}

/// What errors have shown about a connection.
#[derive(Default)]
struct State {
    lost: bool,
    broken: bool,
}

impl State {
    /// Maps an error, and records what it shows.
    fn noted(&mut self, error: mysql::Error) -> Failure {
        self.lost |= is_lost(&error);
        self.broken |= is_broken(&error);
        failure(error)
    }
}

impl MysqlTx {
    pub(super) fn new(connection: mysql::Conn) -> Self {
        Self { connection, state: State::default() }
    }

    /// Whether the connection must be replaced.
    pub(super) fn is_lost(&self) -> bool {
        self.state.lost
    }

    /// Whether the connection broke, so that its transaction is rolled back.
    pub(super) fn is_broken(&self) -> bool {
        self.state.broken
    }

    /// Runs a statement without parameters and without a result.
    pub(super) fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.connection.query_drop(sql).map_err(|error| self.state.noted(error))
    }

    /// Runs a statement without a result.
    pub(super) fn exec(&mut self, sql: &str, values: impl Into<Params>) -> Result<(), Failure> {
        self.connection.exec_drop(sql, values).map_err(|error| self.state.noted(error))
    }

    /// Returns the first row of a query.
    pub(super) fn first<T: FromRow>(
        &mut self,
        sql: &str,
        values: impl Into<Params>,
    ) -> Result<Option<T>, Failure> {
        self.connection.exec_first(sql, values).map_err(|error| self.state.noted(error))
    }
}

impl Tx for MysqlTx {
    fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, Failure> {
        let done = self.connection.exec_drop(statement.mariadb, parameters(values));
        done.map_err(|error| self.state.noted(error))?;
        Ok(self.connection.affected_rows())
    }

    fn insert(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<i64>, Failure> {
        match self.connection.exec_drop(statement.mariadb, parameters(values)) {
            Ok(()) => {
                let key = i64::try_from(self.connection.last_insert_id());
                key.map(Some).map_err(|error| Error::internal(error).into())
            }
            // InnoDB has rolled back this statement only.
            Err(error) if is_duplicate(&error) => Ok(None),
            Err(error) => Err(self.state.noted(error)),
        }
    }

    fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(Row<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self { connection, state } = self;
        let found = connection.exec_iter(statement.mariadb, parameters(values));
        for next in found.map_err(|error| state.noted(error))? {
            let next = next.map_err(|error| state.noted(error))?;
            row(Row(&Found(next)))?;
        }
        Ok(())
    }

    fn guard(&mut self, rule: &'static str, id: i64) -> Result<(), Failure> {
        self.exec(GUARD, (rule, id))
    }
}

fn parameters(values: &[Value<'_>]) -> Params {
    let parameter = |value: &Value<'_>| match *value {
        Value::Null => mysql::Value::NULL,
        Value::Int(number) => mysql::Value::Int(number),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
    };
    if values.is_empty() {
        return Params::Empty;
    }
    Params::Positional(values.iter().map(parameter).collect())
}

/// A row of the driver, which returns texts as bytes.
struct Found(mysql::Row);

impl Columns for Found {
    fn value(&self, column: usize) -> Result<Value<'_>, Failure> {
        let unexpected = || Error::internal(format!("column {column} has an unexpected type"));
        match self.0.as_ref(column) {
            Some(mysql::Value::NULL) => Ok(Value::Null),
            Some(mysql::Value::Int(number)) => Ok(Value::Int(*number)),
            Some(mysql::Value::UInt(number)) => {
                i64::try_from(*number).map(Value::Int).map_err(|_| unexpected().into())
            }
            Some(mysql::Value::Bytes(bytes)) => Ok(Value::Bytes(bytes)),
            _ => Err(unexpected().into()),
        }
    }
}
