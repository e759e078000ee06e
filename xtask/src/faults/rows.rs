//! The rows of all apps.

use std::ops::Deref;

use super::{
    accounts::{self, AccountsPromise},
    links::{self, LinksPromise},
    record::Counted,
    row::Row,
};

/// What a row promises to the clients of an app.
#[derive(Clone, Copy)]
pub(crate) enum Promise {
    Links(&'static LinksPromise),
    Accounts(&'static AccountsPromise),
}

/// A row with its promise.
#[derive(Clone, Copy)]
pub(crate) struct PromisedRow {
    row: &'static Row,
    pub(crate) promise: Promise,
}

/// Returns all rows, in the order of the tables.
pub(crate) fn all() -> impl Iterator<Item = PromisedRow> {
    let of_links = links::ROWS
        .iter()
        .map(|(row, promise)| PromisedRow { row, promise: Promise::Links(promise) });
    let of_accounts = accounts::ROWS
        .iter()
        .map(|(row, promise)| PromisedRow { row, promise: Promise::Accounts(promise) });
    of_links.chain(of_accounts)
}

/// The rows in every `cargo xtask test`: one for each thing that must not fail.
pub(crate) const FIXED: [&str; 4] = [
    "redis-master-killed",
    "accounts-galera-killed",
    "accounts-killed",
    "accounts-redis-master-killed",
];

/// The number of other rows in each `cargo xtask test`, in rotation, except those that take minutes.
pub(crate) const ROTATING: usize = 1;

impl Deref for PromisedRow {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.row
    }
}

impl PromisedRow {
    /// Returns the broken promises, each in a few words.
    pub(crate) fn broken_promises(&self, counted: &Counted) -> Vec<String> {
        match self.promise {
            Promise::Links(promise) => links::broken_promises(promise, counted),
            Promise::Accounts(promise) => accounts::broken_promises(promise, counted),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_of_rows_are_unique_and_those_of_every_test_exist() {
        let names: HashSet<&str> = all().map(|row| row.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(FIXED.iter().all(|name| names.contains(name)));
    }
}
