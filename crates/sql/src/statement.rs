//! SQL texts.

/// A statement in the dialect of each database. Parameters are `?`, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// For `SQLite`.
    pub sqlite: &'static str,
    /// For `MariaDB`.
    pub mariadb: &'static str,
}

/// One text for every database.
pub(crate) const fn same(sql: &'static str) -> Statement {
    Statement { sqlite: sql, mariadb: sql }
}

/// A text for each database.
pub(crate) const fn pair(sqlite: &'static str, mariadb: &'static str) -> Statement {
    Statement { sqlite, mariadb }
}

/// A query that locks what it reads until the transaction ends, where there is more than one writer.
macro_rules! for_update {
    ($sql:expr) => {
        $crate::statement::pair($sql, concat!($sql, " FOR UPDATE"))
    };
}

/// Defines statements, and `STATEMENTS`, the list of them.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $statement:expr;)+) => {
        $($(#[$doc])* pub(super) static $name: $crate::Statement = $statement;)+
        /// Every statement of this module.
        pub(crate) static STATEMENTS: &[&$crate::Statement] = &[$(&$name),+];
    };
}

pub(crate) use {for_update, statements};
