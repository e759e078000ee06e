//! One's passes in the file of all that is kept about oneself.

use std::sync::Arc;

use async_trait::async_trait;
use lodge_domain::{Error, Result, accounts::AccountId, rides::Rides};
use serde_json::Value;

use super::api::PassJson;
use crate::kept::Kept;

struct Passes(Arc<Rides>);

/// What is kept about people here.
pub(crate) fn kept(rides: &Arc<Rides>) -> Box<dyn Kept> {
    Box::new(Passes(Arc::clone(rides)))
}

#[async_trait]
impl Kept for Passes {
    fn name(&self) -> &'static str {
        "passes"
    }

    async fn of(&self, account: AccountId) -> Result<Value> {
        let passes = self.0.passes.of_account(account).await?.into_iter();
        let passes: Vec<_> = passes.map(PassJson::from).collect();
        serde_json::to_value(passes).map_err(Error::internal)
    }
}
