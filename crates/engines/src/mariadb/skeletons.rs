//! Fills the column `accounts.skeleton` of a former schema.

use lodge_domain::look_alikes::skeleton;
use lodge_sql::Failure;
use mysql::{Conn, TxOpts, prelude::Queryable as _};

use super::failure::failure;

/// A page of accounts without a skeleton, the oldest first; its rows are one transaction.
const PAGE: &str =
    "SELECT id, username FROM accounts WHERE id > ? AND skeleton IS NULL ORDER BY id LIMIT 1000";

/// Leaves the column NULL if an older account looks alike.
const FILL: &str = "UPDATE IGNORE accounts SET skeleton = ? WHERE id = ?";

/// Fills the column for all accounts. Can be repeated, also while another process does the same.
pub(super) fn fill(connection: &mut Conn) -> Result<(), Failure> {
    let mut after = 0_i64;
    loop {
        let page: Vec<(i64, String)> = connection.exec(PAGE, (after,)).map_err(failure)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        let mut transaction = connection.start_transaction(TxOpts::default()).map_err(failure)?;
        let rows = page.iter().map(|(id, username)| (skeleton(username), *id));
        transaction.exec_batch(FILL, rows).map_err(failure)?;
        transaction.commit().map_err(failure)?;
    }
}
