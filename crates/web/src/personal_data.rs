//! The personal data that an app stores beside the account, for the account export.

use futures_util::stream::BoxStream;
use lodge_domain::{Result, accounts::AccountId};
use serde_json::Value;

/// An app that stores personal data.
pub(crate) trait PersonalData: Send + Sync {
    /// The field name in the export.
    fn name(&self) -> &'static str;

    /// Streams all data of an account in pages, since it may exceed the memory.
    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>>;
}
