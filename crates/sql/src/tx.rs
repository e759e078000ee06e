//! Transactions, parameter values and rows.

use jiff::Timestamp;
use lodge_domain::Error;
use uuid::Uuid;

use crate::{Failure, Statement};

/// One transaction on one connection.
pub trait Tx {
    /// Runs a statement; returns how many rows it inserted, matched (for an update) or deleted.
    fn execute(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64, Failure>;

    /// Inserts a row and returns its generated key; returns `None`, and changes nothing, if a unique key is taken.
    fn insert(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<Option<i64>, Failure>;

    /// Calls `row` with each row that a query returns.
    fn query(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(Row<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure>;

    /// Locks, until the transaction ends, the guard row of a rule that spans several rows of `id`: of the transactions
    /// that check the rule, each sees the writes of those before it. With a single writer this does nothing.
    fn guard(&mut self, rule: &'static str, id: i64) -> Result<(), Failure>;
}

impl dyn Tx + '_ {
    /// Returns the first row of a query, if any.
    pub fn one<T>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        mut read: impl FnMut(Row<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let mut found = None;
        self.query(statement, values, &mut |row| {
            if found.is_none() {
                found = Some(read(row)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns all rows of a query.
    pub fn all<T>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        mut read: impl FnMut(Row<'_>) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let mut all = Vec::new();
        self.query(statement, values, &mut |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Whether a query returns a row.
    pub fn exists(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<bool, Failure> {
        Ok(self.one(statement, values, |_| Ok(()))?.is_some())
    }
}

/// The value of a parameter or a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// An integer.
    Int(i64),
    /// A text. Some databases return [`Value::Bytes`] for it.
    Text(&'a str),
    /// A binary string.
    Bytes(&'a [u8]),
}

/// The parameters of a statement; each must convert into a [`Value`].
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::Value::from($value)),*] };
}
pub(crate) use values;

macro_rules! value_from {
    ($($from:ty => |$value:ident| $to:expr),* $(,)?) => {
        $(impl<'a> From<$from> for Value<'a> {
            fn from($value: $from) -> Self {
                $to
            }
        })*
    };
}

value_from! {
    bool => |flag| Self::Int(flag.into()),
    i64 => |number| Self::Int(number),
    u32 => |number| Self::Int(number.into()),
    u16 => |number| Self::Int(number.into()),
    u8 => |number| Self::Int(number.into()),
    usize => |limit| Self::Int(i64::try_from(limit).unwrap_or(i64::MAX)),
    &'a str => |text| Self::Text(text),
    &'a String => |text| Self::Text(text),
    &'a [u8] => |bytes| Self::Bytes(bytes),
    &'a [u8; 16] => |bytes| Self::Bytes(bytes),
    &'a [u8; 32] => |bytes| Self::Bytes(bytes),
    Timestamp => |at| Self::Int(at.as_millisecond()),
}

impl<T: Into<Self>> From<Option<T>> for Value<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The columns of one row, implemented for each driver.
pub trait Columns {
    /// Returns the value of a column, counted from 0.
    fn value(&self, column: usize) -> Result<Value<'_>, Failure>;
}

/// One row of a query's result.
#[derive(Clone, Copy)]
pub struct Row<'r>(pub &'r dyn Columns);

impl Row<'_> {
    /// Returns the value of a column, counted from 0.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] if the value is not a `T`.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T, Failure> {
        let value = self.0.value(column)?;
        let unreadable = || Error::internal(format!("column {column} has an unexpected value"));
        T::from_value(value).ok_or_else(|| unreadable().into())
    }
}

/// A type that a column can be read as.
pub trait FromValue: Sized {
    /// Converts the value; `None` if it is of another type or out of range.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Int(number) = value { Some(number) } else { None }
    }
}

macro_rules! from_number {
    ($($number:ty),*) => {
        $(impl FromValue for $number {
            fn from_value(value: Value<'_>) -> Option<Self> {
                i64::from_value(value)?.try_into().ok()
            }
        })*
    };
}

from_number!(u16, u32, u64);

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            Value::Bytes(bytes) => Self::from_utf8(bytes.to_vec()).ok(),
            Value::Null | Value::Int(_) => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Bytes(bytes) = value { Some(bytes.to_vec()) } else { None }
    }
}

impl<const LENGTH: usize> FromValue for [u8; LENGTH] {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Bytes(bytes) = value { bytes.try_into().ok() } else { None }
    }
}

impl FromValue for Uuid {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <[u8; 16]>::from_value(value).map(Self::from_bytes)
    }
}

/// Milliseconds since 1970-01-01T00:00Z.
impl FromValue for Timestamp {
    fn from_value(value: Value<'_>) -> Option<Self> {
        Self::from_millisecond(i64::from_value(value)?).ok()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::from_value(value).map(Some) }
    }
}
