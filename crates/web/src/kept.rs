//! What apps keep about somebody beside their account, for the file of all that is kept about them.

use async_trait::async_trait;
use lodge_domain::{Result, accounts::AccountId};
use serde_json::Value;

/// An app that keeps something.
#[async_trait]
pub(crate) trait Kept: Send + Sync {
    /// What it is called in the file.
    fn name(&self) -> &'static str;

    /// All that is kept about an account.
    async fn of(&self, account: AccountId) -> Result<Value>;
}
