//! SQL statements in each dialect.

/// A statement in the dialect of each database. Parameters are `?`, bound in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The text for `SQLite`.
    pub sqlite: &'static str,
    /// The text for `MariaDB`.
    pub mariadb: &'static str,
}

impl Statement {
    /// A statement that only `MariaDB` runs.
    pub const fn mariadb(sql: &'static str) -> Self {
        Self { sqlite: "", mariadb: sql }
    }
}

/// A statement with the same text for every database.
pub(crate) const fn same(sql: &'static str) -> Statement {
    Statement { sqlite: sql, mariadb: sql }
}

/// A statement with a text for each database.
pub(crate) const fn pair(sqlite: &'static str, mariadb: &'static str) -> Statement {
    Statement { sqlite, mariadb }
}

/// A query that, on databases with several writers, locks the rows that it reads until the transaction ends.
macro_rules! for_update {
    ($sql:expr) => {
        $crate::statement::pair($sql, concat!($sql, " FOR UPDATE"))
    };
}

/// Defines statements, and `STATEMENTS`, a list of all of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $statement:expr;)+) => {
        $($(#[$doc])* pub(super) static $name: $crate::Statement = $statement;)+
        /// Every statement of this module.
        pub(crate) static STATEMENTS: &[&$crate::Statement] = &[$(&$name),+];
    };
}

pub(crate) use {for_update, statements};
