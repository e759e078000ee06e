//! The account's passes in the export of its data.

use std::sync::Arc;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use lodge_domain::{Error, Result, accounts::AccountId, rides::Rides};
use serde_json::Value;

use super::api::PassJson;
use crate::personal_data::PersonalData;

impl PersonalData for Arc<Rides> {
    fn name(&self) -> &'static str {
        "passes"
    }

    fn of(&self, account: AccountId) -> BoxStream<'static, Result<Vec<Value>>> {
        let rides = Arc::clone(self);
        let all = async move {
            let passes = rides.passes().of_account(account).await?.into_iter();
            let passes = passes.map(|pass| serde_json::to_value(PassJson::from(pass)));
            passes.collect::<Result<_, _>>().map_err(Error::internal)
        };
        stream::once(all).boxed()
    }
}
