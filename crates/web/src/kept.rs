//! What apps keep about somebody beside their account, for the file of all that is kept about them.

use futures_util::stream::BoxStream;
use lodge_domain::{Result, accounts::AccountId};
use serde_json::Value;

/// An app that keeps something.
pub(crate) trait Kept: Send + Sync {
    /// What it is called in the file.
    fn name(&self) -> &'static str;

    /// All that is kept about an account, some of it at a time: there may be more than fits in memory.
    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>>;
}
